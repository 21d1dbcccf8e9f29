// The graph of an exported program, subgraphs included, as nodes of the IR: operators with every argument in the schema's order,
// arithmetic of sizes as TorchScript has it, control flow as blocks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/pt2/arguments.h"
#include "frontend/pt2/custom_calls.h"
#include "frontend/pt2/json.h"
#include "frontend/pt2/node_writer.h"
#include "frontend/pt2/reading.h"
#include "frontend/pt2/vmap_region.h"
#include "ir/graph.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

class GraphReader {
 public:
  // Nodes go to the end of `block`. `graph` is a Graph of the schema.
  GraphReader(Reading& reading, ir::Block& block, const Json& graph);
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  void read_nodes();
  void read(std::size_t first, std::size_t end);  // the nodes from `first` to before `end`
  void read_one(std::size_t i);
  const Json& node(std::size_t i) const { return list_[i]; }
  const Json& graph() const { return graph_; }
  VmapRegions& vmap_regions() { return regions_; }
  std::optional<Json> meta_of(std::string_view name) const;  // a tensor's metadata in the file's tensor_values
  ir::TypeRef type_of(std::string_view name) const;

  Reading& reading() { return reading_; }
  NodeWriter& nodes() { return nodes_; }
  Arguments& arguments() { return arguments_; }

  // A call of an operator that has no schema.
  ir::Node* call_unknown(const std::string& op, const Json& node, std::span<const Json> inputs);

 private:
  void count_nodes(std::size_t more);  // throws ModelError beyond the bound
  void read_node(const Json& node);
  void read_operator(const Json& node, std::string_view target, std::span<const Json> inputs);
  void read_python_function(const Json& node, std::string_view target, std::span<const Json> inputs);
  bool drop_assertion(std::string_view op, const Json& node, std::span<const Json> inputs);
  void read_item(const Json& node, ir::Value* tensor);
  std::optional<bool> copies(const Json& node, std::span<const Json> inputs) const;
  bool restates_layout(const Json& node, std::span<const Json> inputs) const;
  std::vector<std::string> spelled_sizes(const Json& list) const;
  void read_to(const std::string& overload, const Json& node, std::span<const Json> inputs);
  // The results of a call that has arguments with batch dimensions; nullopt for others. Throws Unbatchable.
  std::optional<Values> batched(const schema::Schema& schema, const std::string& overload, const Values& values,
                                const Json& node);
  void expect_unbatched(std::span<ir::Value* const> values, std::string_view op) const;
  // Calls an operator by its name ("aten::add") and overload. Null if other nodes stand for the call.
  ir::Node* call(const std::string& op, const std::string& overload, const Json& node, std::span<const Json> inputs);
  std::pair<const schema::Schema*, Values> place_custom(const std::string& op, const std::string& overload,
                                                        std::span<const Json> inputs);
  std::optional<Values> placed(const schema::Schema& schema, const Placement& placement, std::span<const Json> inputs);

  ir::TypeRef result_type(const Json& result) const;  // the type that the file states
  void bind_results(std::span<ir::Value* const> made, std::span<const Json> results);
  void bind_list(ir::Value* list, const Json& names);

  Reading& reading_;
  Json graph_;
  NodeWriter nodes_;
  Arguments arguments_;
  std::unordered_map<std::string_view, Json> tensors_;
  std::vector<Json> list_;  // the nodes
  VmapRegions regions_;
};

struct OperatorName {
  std::string op, overload;  // "aten::add", "Tensor"; the default overload has no name
};
// Parses "torch.ops.aten.add.Tensor"; nullopt for other targets.
std::optional<OperatorName> operator_name(std::string_view target);

}  // namespace compatcheck::frontend::pt2
