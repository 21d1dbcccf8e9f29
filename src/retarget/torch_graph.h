// A graph of PyTorch's calls that stands for one ONNX node.
#pragma once

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "onnx/builder.h"
#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"
#include "symbolic/fact.h"

namespace compatcheck::retarget {

class TorchGraph {
 public:
  struct None {};
  using Ints = std::vector<std::int64_t>;
  using Argument = std::variant<None, ir::Value*, std::int64_t, double, bool, std::string, Ints, std::vector<ir::Value*>>;

  // `older`: gets the opsets of older forms when the calls are written; may be null.
  TorchGraph(const ::onnx::NodeProto& whole, const Scope& around, const Setting& setting, std::vector<int>* older = nullptr)
      : node(whole), scope(around), setting_(setting), older_(older) {}

  const ::onnx::NodeProto& node;
  const Scope& scope;

  // An input of the node as a tensor; a constant if it is small and known. Throws Refusal for other types.
  ir::Value* input(int index);
  Argument optional(int index);  // None if it is absent
  bool has(int index) const { return !input_of(node, index).empty(); }
  ir::Value* call(const std::string& op, std::initializer_list<Argument> arguments);
  std::vector<ir::Value*> calls(const std::string& op, std::initializer_list<Argument> arguments, std::size_t results);

  // Each throws Refusal if it isn't known.
  std::int64_t rank(int input) const;
  std::vector<std::int64_t> sizes(int input) const;
  ir::DType dtype(int input) const;
  std::int64_t number(int input, const std::string& what) const;
  std::vector<std::int64_t> ints(int input, const std::string& what) const;

  // The nodes of the calls, whose results are the node's outputs. Throws Refusal with the reason of a call that doesn't convert.
  Piece lower(const std::vector<ir::Value*>& outputs, Names& names);

 private:
  ir::Value* argument(const Argument& argument);
  ir::Value* constant(ir::Constant value);

  const Setting& setting_;
  std::vector<int>* older_;
  ir::Graph graph_;
  std::unordered_map<std::string, ir::Value*> inputs_;
  std::vector<std::string> read_;  // values that the graph's inputs stand for
  std::vector<symbolic::Fact> facts_;
};

}  // namespace compatcheck::retarget
