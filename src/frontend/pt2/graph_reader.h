// The graph of an exported program, subgraphs included, as nodes of the IR: operators with every argument in the schema's order,
// arithmetic of sizes as TorchScript has it, control flow as blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/pt2/json.h"
#include "frontend/pt2/origins.h"
#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

// What all graphs of one program share while they are read.
struct Reading {
  ir::Graph& graph;
  const schema::Registry& schemas;
  const ir::Watch& watch;
  Origins origins{};
  std::map<std::string, std::size_t> assertions{};  // dropped ones by their text
  std::map<std::string, std::string> notes{};       // by what they are about, each once
  std::set<std::string> assumed_schemas{};
  std::unordered_map<std::string, ir::Value*> constants{};
  std::size_t nodes = 0;
  std::optional<ir::DType> autocast{};  // in a region of torch.autocast: the lower precision
  bool autocast_is_strict = false;      // and the dtypes in the file are those without it
};

class GraphReader {
 public:
  // Nodes go to the end of `block`. `graph` is a Graph of the schema.
  GraphReader(Reading& reading, ir::Block& block, const Json& graph);

  void bind(const std::string& name, ir::Value* value);  // throws ModelError for a name that is defined already
  void read_nodes();
  ir::Value* value_of(const Json& argument) { return value_of(argument, nullptr); }
  std::optional<Json> meta_of(const std::string& name) const;  // of a tensor, by the file's tensor_values
  ir::TypeRef type_of(const std::string& name) const;

  ir::Value* constant(ir::Constant value, const ir::TypeRef& type = nullptr);
  ir::Node* add_node(const std::string& op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> outputs);
  ir::Value* add(const std::string& op, std::vector<ir::Value*> inputs, const ir::TypeRef& type);
  ir::Block& block() { return block_; }

 private:
  friend class HigherOrder;

  void read_node(const Json& node);
  void read_operator(const Json& node, std::string_view target, std::span<const Json> inputs);
  void read_python_function(const Json& node, std::string_view target, std::span<const Json> inputs);
  bool drop_assertion(std::string_view name, std::span<const Json> inputs);
  void read_item(const Json& node, ir::Value* tensor);
  std::optional<bool> copies(const Json& node, std::span<const Json> inputs) const;
  void read_to(const std::string& overload, const Json& node, std::span<const Json> inputs);
  // Of an operator by its name ("aten::add") and overload.
  ir::Node* call(const std::string& op, const std::string& overload, const Json& node, std::span<const Json> inputs);
  ir::Node* call_unknown(const std::string& op, const Json& node, std::span<const Json> inputs);
  void assume_schema(const std::string& op, const Json& node, std::span<const Json> inputs);
  void cast_operand(ir::Node& user, std::size_t i, bool lowers);
  void count_nodes(std::size_t more);  // throws ModelError beyond the bound
  void cast_automatically(ir::Node& made, std::span<const Json> results);
  void bind_results(ir::Node& made, std::span<const Json> results);
  void bind_list(ir::Value* list, const Json& names);

  ir::Value* value_of(const Json& argument, const schema::Argument* formal);
  ir::Value* value_named(const Json& named);
  ir::Value* symbolic(const Json& value);
  ir::Value* tensors(const Json& list, const schema::Argument* formal);
  ir::Value* list(std::vector<ir::Value*> items, const ir::TypeRef& element);

  Reading& reading_;
  ir::Block& block_;
  Json graph_;
  std::unordered_map<std::string, ir::Value*> values_;
  std::unordered_map<std::string_view, Json> tensors_;
  const Json* node_ = nullptr;  // the node being read
};

}  // namespace compatcheck::frontend::pt2
