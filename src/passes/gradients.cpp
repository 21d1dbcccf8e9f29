// Whether gradients are on, and the nested tensors that PyTorch's transformer makes where they are off.
#include <algorithm>
#include <limits>
#include <optional>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The value that this one is in every branch that gives it.
bool is_same(const ir::Value* value, const ir::Value* as) {
  if (value == as) return true;
  const ir::Node* node = value->producer();
  if (!node) return false;
  if (node->is("prim::unchecked_cast")) return is_same(node->input(0), as);
  return node->is("prim::If") && std::ranges::all_of(node->blocks(), [&](const ir::Block* block) {
           return is_same(block->outputs()[value->index()], as);
         });
}

// Where the fast path of nn.TransformerEncoder begins: an If whose first block makes a tensor nested and passes no mask on.
struct NestedPath {
  ir::Node* nested = nullptr;
  ir::Value* mask = nullptr;  // of padding, which the other block passes on
  std::size_t tensor_at = 0, mask_at = 0, flag_at = 0;

  ir::Block* block() const { return nested->owner(); }
  ir::Node* branch() const { return block()->owner(); }
};

bool is_left_out(const ir::Value* value) {
  const ir::Constant* constant = ir::constant_of(value);
  return constant && constant->is_none();
}

std::optional<NestedPath> path_of(ir::Node* nested) {
  NestedPath made{.nested = nested};
  const ir::Node* branch = nested->owner()->owner();
  if (!branch || !branch->is("prim::If") || branch->blocks()[0] != nested->owner() || nested->output()->uses().size() != 1)
    return std::nullopt;
  const ir::Use use = nested->output()->uses().front();
  if (use.user != nested->owner()->return_node()) return std::nullopt;
  made.tensor_at = use.operand;
  const auto with = nested->owner()->outputs(), without = branch->blocks()[1]->outputs();
  int masks = 0, flags = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const bool *on = known<bool>(with[i]), *off = known<bool>(without[i]);
    if (on && off && *on && !*off) made.flag_at = i, ++flags;
    if (is_left_out(with[i]) && !is_left_out(without[i])) made.mask_at = i, made.mask = without[i], ++masks;
  }
  const ir::Node* kept = nested->input(1)->producer();
  const bool fits = masks == 1 && flags == 1 && without[made.tensor_at] == nested->input(0) &&
                    available_in(made.mask, branch->owner()) && kept && kept->is("aten::logical_not") &&
                    is_same(kept->input(0), made.mask);
  return fits ? std::optional(made) : std::nullopt;
}

// Whether the value is true where the nested tensor was made, and false elsewhere.
bool is_flag_of(const ir::Value* value, const NestedPath& path) {
  const ir::Node* node = value->producer();
  if (!node || !node->is("prim::If")) return false;
  if (node == path.branch()) return value->index() == path.flag_at;
  int found = 0;
  for (const ir::Block* block : node->blocks()) {
    const ir::Value* output = block->outputs()[value->index()];
    const bool* flag = known<bool>(output);
    if (flag ? *flag : !is_flag_of(output, path)) return false;
    found += flag ? 0 : 1;
  }
  return found == 1;
}

// `if convert_to_nested: output = output.to_padded_tensor(0., src.size())`
bool ends(const ir::Node* padded, const NestedPath& path) {
  const ir::Block* block = padded->owner();
  const ir::Node* branch = block->owner();
  if (!branch || !branch->is("prim::If") || branch->blocks()[0] != block || !is_flag_of(branch->input(0), path)) return false;
  const ir::Node* sizes = padded->input(2)->producer();
  const auto uses = padded->output()->uses();
  return sizes && sizes->is("aten::size") && sizes->inputs().size() == 1 && sizes->input(0) == path.nested->input(0) &&
         uses.size() == 1 && uses.front().user == block->return_node() &&
         branch->blocks()[1]->outputs()[uses.front().operand] == padded->input(0) && available_in(path.mask, block);
}

ir::Value* made_before(ir::Node* place, const char* op, std::initializer_list<ir::Value*> inputs,
                       const ir::TypeRef& type = ir::simple_type(ir::TypeKind::tensor)) {
  return node_before(place, op, std::span(inputs.begin(), inputs.size()), std::span(&type, 1))->output();
}

// The layers get the padded tensor and its mask, as in the other branch: the elements that aren't padding are the same. Then
// padding is filled.
void take_padded(const NestedPath& path, ir::Node* padded) {
  ir::Node* end = path.block()->return_node();
  end->replace_input(path.tensor_at, path.nested->input(0));
  end->replace_input(path.mask_at, path.mask);
  path.nested->erase();
  ir::Value* mask = made_before(padded, "prim::unchecked_cast", {path.mask});
  ir::Value* hidden = made_before(padded, "aten::ne", {mask, constant_before(padded, {std::int64_t{0}})});
  ir::Value* rows = made_before(padded, "aten::unsqueeze", {hidden, constant_before(padded, {std::int64_t{-1}})});
  replace(padded->output(), made_before(padded, "aten::masked_fill", {padded->input(0), rows, padded->input(1)}));
  padded->erase();
}

// All that is kept stands before all padding: no place is kept behind one that isn't.
void write_out_alignment(ir::Node* node) {
  const auto number = [&](std::int64_t value) { return constant_before(node, {value}); };
  const auto places = [&](std::int64_t from, std::int64_t to) {
    return made_before(node, "aten::slice", {node->input(1), number(1), number(from), number(to), number(1)});
  };
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  ir::Value* gap =
      made_before(node, "aten::logical_and", {places(1, end), made_before(node, "aten::logical_not", {places(0, -1)})});
  const ir::TypeRef boolean = ir::simple_type(ir::TypeKind::boolean);
  ir::Value* any = made_before(node, "aten::Bool", {made_before(node, "aten::any", {gap})}, boolean);
  replace(node->output(), made_before(node, "aten::__not__", {any}, boolean));
  node->erase();
}

}  // namespace

std::size_t settle_gradients(ir::Graph& graph, bool on, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("aten::is_grad_enabled")) continue;
    replace(node->output(), constant_before(node, {on}));
    node->erase();
    ++changed;
  }
  return changed;
}

std::size_t pad_nested_tensors(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* nested : all_nodes(graph, watch)) {
    if (!nested->is("aten::_nested_tensor_from_mask")) continue;
    const auto path = path_of(nested);
    if (!path) continue;
    for (ir::Node* padded : all_nodes(graph, watch)) {
      if (!padded->is("aten::to_padded_tensor") || !ends(padded, *path)) continue;
      take_padded(*path, padded);
      ++changed;
      break;
    }
  }
  for (ir::Node* node : all_nodes(graph, watch))
    if (node->is("aten::_nested_tensor_from_mask_left_aligned")) write_out_alignment(node);
  return changed;
}

}  // namespace compatcheck::passes
