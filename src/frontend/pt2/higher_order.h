// Higher-order operators: control flow as blocks, wrappers by what they wrap.
// Source: torch/_higher_order_ops (torch 2.13).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontend/pt2/graph_reader.h"

namespace compatcheck::frontend::pt2 {

class HigherOrder {
 public:
  HigherOrder(GraphReader& reader, const Json& node, std::span<const Json> inputs);

  void read(std::string_view name);
  static bool only_wraps(std::string_view name);  // reads its subgraph in its own place

 private:
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

  Json argument(std::size_t i) const;
  Values items(std::size_t i) const;         // items of a list
  Values items_if_any(std::size_t i) const;  // none if the argument is absent
  Values rest(std::size_t first) const;
  // The subgraph at the end of `block`, its inputs bound to `operands` in order; its outputs.
  Values run(const Json& graph_argument, ir::Block& block, const Values& operands) const;
  void bind(const Values& results) const;

  struct Loop {
    ir::Node* node;
    NodeWriter body;
    ir::Value* iteration;  // the number of the iteration
    Values carried;        // the carried values in the body
    // Ends the body: whether another iteration follows, and the values that it gets.
    void repeat(ir::Value* again, std::span<ir::Value* const> next);
    Values results() const { return {node->outputs().begin(), node->outputs().end()}; }
  };
  Loop loop(ir::Value* trip_count, ir::Value* start, const Values& carried) const;
  Values stacked(const Values& lists) const;  // each list as one tensor

  // Returns the schema of the operator that an argument names ("torch.ops.aten.mm.default"); null if it isn't known.
  const schema::Schema* wrapped_schema(std::size_t i) const;
  std::string wrapped_target(std::size_t i) const;  // the name in the file
  // The operator's results, or one None if it has none.
  Values call(const schema::Schema& schema, const Values& arguments) const;
  ir::Value* copy_of(ir::Value* tensor) const;
  // The part of base that an argument writes to, by _NAME_base_index and more; null if it isn't a part of one.
  ir::Value* part_of_base(const std::string& name, const Values& bases) const;

  GraphReader& reader_;
  NodeWriter& nodes_;
  Arguments& arguments_;
  const Json& node_;
  std::span<const Json> inputs_;
};

}  // namespace compatcheck::frontend::pt2
