// Higher-order operators: control flow as blocks, wrappers by what they wrap.
// Source: torch/_higher_order_ops (torch 2.13).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pt2/graph_reader.h"

namespace compatcheck::frontend::pt2 {

class HigherOrder {
 public:
  HigherOrder(GraphReader& reader, const Json& node, std::span<const Json> inputs);

  void read(std::string_view name);

 private:
  using Values = std::vector<ir::Value*>;

  void cond();
  void while_loop();
  void scan(bool with_state);
  void associative_scan();
  void inlined(std::size_t graph, std::size_t first_operand);
  void autocast();
  void with_effects();
  void out_dtype();
  void functionalized_v1();
  void functionalized_v2();
  void unknown(std::string_view name);
  // Of the operator that an argument names ("torch.ops.aten.mm.default"); null where nobody ships it.
  const schema::Schema* wrapped_schema(std::size_t i) const;
  std::string wrapped_target(std::size_t i) const;  // as the file names it
  // The operator's results, or one None where it has none.
  Values call(const schema::Schema& schema, const Values& arguments) const;
  std::optional<Json> named(std::string_view name) const;  // an argument by its name

  Json argument(std::size_t i) const;
  Values values(std::size_t i) const;  // of a list
  Values rest(std::size_t first) const;
  // The subgraph at the end of `block`, its inputs bound to `operands` in order; its outputs.
  Values run(const Json& graph_argument, ir::Block& block, const Values& operands) const;
  void bind(const Values& results) const;
  std::vector<ir::TypeRef> types_of(const Values& values) const;
  ir::Value* truth(ir::Value* condition) const;  // of a tensor with one element
  ir::Value* length(ir::Value* tensor) const;
  // Of each of `tensors` the part at `index` of the first dimension, at the end of `block`.
  static Values at(GraphReader& in, const Values& tensors, ir::Value* index);

  GraphReader& reader_;
  const Json& node_;
  std::span<const Json> inputs_;
};

}  // namespace compatcheck::frontend::pt2
