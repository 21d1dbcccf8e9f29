// Who gives each name of a model: the same one may stand for other things in other bodies.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <string>
#include <unordered_map>

namespace compatcheck::onnx_file {

struct Scope;

// One of the pointers is what provides the name; none: it is an input of the graph.
struct Origin {
  const Scope* scope = nullptr;
  const ::onnx::NodeProto* node = nullptr;
  const ::onnx::TensorProto* initializer = nullptr;
  const ::onnx::SparseTensorProto* sparse_initializer = nullptr;

  bool is_given() const { return !node && !is_initializer(); }
  bool is_initializer() const { return initializer || sparse_initializer; }
};

// The model's graph, or a body.
struct Scope {
  const ::onnx::GraphProto* graph = nullptr;
  const Scope* around = nullptr;             // null: the model's graph
  const ::onnx::NodeProto* owner = nullptr;  // node that has this body
  std::unordered_map<std::string, Origin> names{};
};

class Scopes {
 public:
  // The graph must outlive it, unchanged.
  explicit Scopes(const ::onnx::GraphProto& graph) { add(graph, nullptr, nullptr); }
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;

  const std::deque<Scope>& all() const { return scopes_; }  // each before those in it
  // Returns the origin of a name in that scope; null if it has none.
  static const Origin* find(const Scope& scope, const std::string& name);
  // By the name alone: of the model's graph, or of the only body that has it; null where several do, or none.
  const Origin* find(const std::string& name) const;
  bool is_used(const std::string& name) const { return anywhere_.contains(name); }

 private:
  void add(const ::onnx::GraphProto& graph, const Scope* around, const ::onnx::NodeProto* owner);

  std::deque<Scope> scopes_;
  std::unordered_map<std::string, const Origin*> anywhere_;  // null: of several bodies
};

}  // namespace compatcheck::onnx_file
