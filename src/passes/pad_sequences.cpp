#include "passes/pad_sequences.h"

#include <array>

#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// Builds the nodes that stand in the place of one call.
class PadSequenceLoops {
 public:
  explicit PadSequenceLoops(ir::Node* call) : call_(call), list_(call->input(0)) {}

  ir::Value* result() {
    length_ = add(call_, "aten::len", {list_}, "t", integer_);
    ir::Value* longest = loop(constant(0), integer_, [&](ir::Node* end, ir::Value* sequence, ir::Value* before) {
      return add(end, "prim::max", {before, size(end, sequence)}, "int", integer_);
    });
    ir::Value* empty = add(call_, "prim::ListConstruct", {}, "", ir::list_of(tensor_));
    ir::Value* padded = loop(empty, ir::list_of(tensor_), [&](ir::Node* end, ir::Value* sequence, ir::Value* before) {
      ir::Value* item = add(end, "prim::ListConstruct", {pad(end, sequence, longest)}, "", ir::list_of(tensor_));
      return add(end, "aten::add", {before, item}, "t", ir::list_of(tensor_));
    });
    const bool batch_first = *known<bool>(call_->input(1));
    return add(call_, "aten::stack", {padded, constant(batch_first ? 0 : 1)}, "", tensor_);
  }

 private:
  ir::Value* constant(std::int64_t value) const { return constant_before(call_, {value}); }

  static ir::Value* add(ir::Node* place, const char* op, std::initializer_list<ir::Value*> inputs, const char* overload,
                        const ir::TypeRef& type) {
    ir::Node* made = node_before(place, op, std::span(inputs.begin(), inputs.size()), std::array{type});
    made->set_overload(overload);
    return made->output();
  }

  ir::Value* size(ir::Node* place, ir::Value* sequence) const {
    return add(place, "aten::size", {sequence, constant_before(place, {std::int64_t{0}})}, "int", integer_);
  }

  // A loop over the sequences that carries one value, which begins as `first`: `body` computes the next one.
  template <class Body>
  ir::Value* loop(ir::Value* first, const ir::TypeRef& type, const Body& body) const {
    ir::Value* true_value = constant_before(call_, {true});
    ir::Node* made = node_before(call_, "prim::Loop", std::array{length_, true_value, first}, std::array{type});
    ir::Block* block = made->add_block();
    ir::Value* index = block->add_input(integer_);
    ir::Value* before = block->add_input(type);
    block->add_output(true_value);
    ir::Node* end = block->return_node();
    ir::Value* sequence = add(end, "aten::__getitem__", {list_, index}, "t", tensor_);
    block->add_output(body(end, sequence, before));
    return made->output();
  }

  // The sequence and rows of the padding value, together as long as the longest sequence.
  ir::Value* pad(ir::Node* end, ir::Value* sequence, ir::Value* longest) const {
    const ir::TypeRef sizes = ir::list_of(integer_);
    ir::Value* missing = add(end, "aten::sub", {longest, size(end, sequence)}, "int", integer_);
    ir::Value* one = constant_before(end, {std::int64_t{1}});
    ir::Value* none = constant_before(end, {});
    ir::Value* all = add(end, "aten::size", {sequence}, "", sizes);
    ir::Value* others = add(end, "aten::slice", {all, one, none, one}, "t", sizes);
    ir::Value* shape = add(end, "aten::add", {add(end, "prim::ListConstruct", {missing}, "", sizes), others}, "t", sizes);
    ir::Value* rows = add(end, "aten::new_full", {sequence, shape, call_->input(2), none, none, none, none}, "", tensor_);
    const auto* side = call_->inputs().size() > 3 ? known<std::string>(call_->input(3)) : nullptr;
    const bool left = side && *side == "left";
    ir::Value* joined = left ? add(end, "prim::ListConstruct", {rows, sequence}, "", ir::list_of(tensor_))
                             : add(end, "prim::ListConstruct", {sequence, rows}, "", ir::list_of(tensor_));
    return add(end, "aten::cat", {joined, constant_before(end, {std::int64_t{0}})}, "", tensor_);
  }

  ir::Node* call_;
  ir::Value *list_, *length_ = nullptr;
  ir::TypeRef integer_ = ir::simple_type(ir::TypeKind::integer), tensor_ = ir::tensor_type();
};

bool may_expand(const ir::Node& node) {
  if (!node.is("aten::pad_sequence") || node.inputs().size() < 3 || !known<bool>(node.input(1))) return false;
  const ir::Node* list = node.input(0)->producer();
  if (list && (list->is("prim::ListConstruct") || list->is("prim::Constant"))) return false;
  return node.inputs().size() < 4 || known<std::string>(node.input(3));
}

}  // namespace

std::size_t expand_pad_sequence(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch) {
  if (writes_anything(*graph.top())) return 0;
  std::size_t expanded = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!may_expand(*node)) continue;
    replace(node->output(), PadSequenceLoops(node).result());
    node->erase();
    ++expanded;
  }
  if (expanded > 0) schema::resolve(graph, registry);
  return expanded;
}

}  // namespace compatcheck::passes
