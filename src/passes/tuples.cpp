// Tuples are taken apart wherever their parts are known; they stay at the graph's inputs and outputs, in lists and
// in optionals.
#include <algorithm>
#include <optional>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool is_tuple(const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::tuple) && !value->type()->elements.empty(); }

const ir::Node* construction(const ir::Value* value) {
  const ir::Node* node = value->producer();
  return node && node->is("prim::TupleConstruct") ? node : nullptr;
}

std::optional<std::size_t> position(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

// prim::TupleUnpack, TupleIndex and TupleSlice of a tuple made here.
bool read_construction(ir::Node* node) {
  const bool unpack = node->is("prim::TupleUnpack");
  const bool index = node->is("prim::TupleIndex");
  const bool slice = node->is("prim::TupleSlice");
  if (!unpack && !index && !slice) return false;
  const ir::Node* tuple = construction(node->input(0));
  if (!tuple) return false;
  if (unpack) {
    if (tuple->inputs().size() != node->outputs().size()) return false;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) replace(node->output(i), tuple->input(i));
  } else if (index) {
    const auto* number = known<std::int64_t>(node->input(1));
    const auto at = number ? position(*number, tuple->inputs().size()) : std::nullopt;
    if (!at) return false;
    replace(node->output(), tuple->input(*at));
  } else {
    const ir::Constant* begin = node->attribute("beg");
    const ir::Constant* end = node->attribute("end");
    if (!begin || !end || !begin->get<std::int64_t>() || !end->get<std::int64_t>()) return false;
    const auto size = static_cast<std::int64_t>(tuple->inputs().size());
    auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size); };
    const auto from = static_cast<std::size_t>(clamp(*begin->get<std::int64_t>()));
    const auto to = std::max(from, static_cast<std::size_t>(clamp(*end->get<std::int64_t>())));
    const ir::TypeRef type = node->output()->type();
    ir::Node* part = node_before(node, "prim::TupleConstruct", tuple->inputs().subspan(from, to - from), {&type, 1});
    replace(node->output(), part->output());
  }
  node->erase();
  return true;
}

// The parts of `value`, of these types, made before `place` where they aren't known.
std::vector<ir::Value*> parts(ir::Value* value, std::span<const ir::TypeRef> types, ir::Node* place) {
  if (const ir::Node* tuple = construction(value)) return {tuple->inputs().begin(), tuple->inputs().end()};
  if (value->producer() && value->producer()->is("prim::Uninitialized")) {
    std::vector<ir::Value*> items;
    for (const ir::TypeRef& type : types) items.push_back(node_before(place, "prim::Uninitialized", {}, {&type, 1})->output());
    return items;
  }
  ir::Node* unpack = node_before(place, "prim::TupleUnpack", {&value, 1}, types);
  return {unpack->outputs().begin(), unpack->outputs().end()};
}

ir::Node* construct_from(ir::Graph& graph, std::span<ir::Value* const> items, const ir::Value* like, const ir::Node& origin) {
  ir::Node* tuple = graph.create("prim::TupleConstruct", items);
  tuple->add_output(like->type());
  tuple->copy_origin(origin);
  return tuple;
}

bool same_arity(const ir::Value* a, const ir::Value* b) {
  return is_tuple(a) && is_tuple(b) && a->type()->elements.size() == b->type()->elements.size();
}

// Output `i` of an If becomes one output a part.
bool split_branch_output(ir::Node* branch, std::size_t i) {
  ir::Value* output = branch->output(i);
  for (ir::Block* block : branch->blocks()) {
    const ir::Value* result = block->outputs()[i];
    const bool undefined = result->producer() && result->producer()->is("prim::Uninitialized");
    if (!undefined && !same_arity(output, result)) return false;
  }
  const std::vector<ir::TypeRef> types = output->type()->elements;
  std::vector<ir::Value*> items;
  for (const ir::TypeRef& type : types) items.push_back(branch->add_output(type));
  for (ir::Block* block : branch->blocks()) {
    for (ir::Value* part : parts(block->outputs()[i], types, block->return_node())) block->add_output(part);
    block->erase_output(i);
  }
  ir::Node* tuple = construct_from(*branch->graph(), items, output, *branch);
  tuple->insert_after(branch);
  replace(output, tuple->output());
  branch->erase_output(i);
  return true;
}

// Carried value `i` of a Loop becomes one a part.
bool split_carried(ir::Node* loop, std::size_t i) {
  ir::Block* body = loop->blocks()[0];
  ir::Value* output = loop->output(i);
  ir::Value* inside = body->inputs()[i + 1];
  if (!same_arity(output, loop->input(i + 2)) || !same_arity(output, inside) || !same_arity(output, body->outputs()[i + 1]))
    return false;
  const std::vector<ir::TypeRef> types = output->type()->elements;
  std::vector<ir::Value*> items;
  std::vector<ir::Value*> inner;
  for (ir::Value* part : parts(loop->input(i + 2), types, loop)) loop->add_input(part);
  loop->erase_input(i + 2);
  for (const ir::TypeRef& type : types) {
    items.push_back(loop->add_output(type));
    inner.push_back(body->add_input(type));
  }
  ir::Node* rebuilt = construct_from(*loop->graph(), inner, inside, *loop);
  body->prepend(rebuilt);
  replace(inside, rebuilt->output());
  for (ir::Value* part : parts(body->outputs()[i + 1], types, body->return_node())) body->add_output(part);
  body->erase_output(i + 1);
  body->erase_input(i + 1);
  ir::Node* tuple = construct_from(*loop->graph(), items, output, *loop);
  tuple->insert_after(loop);
  replace(output, tuple->output());
  loop->erase_output(i);
  return true;
}

std::size_t split_boundaries(ir::Node* node) {
  const bool branch = node->is("prim::If");
  if (!branch && !node->is("prim::Loop")) return 0;
  std::size_t split = 0;
  for (std::size_t i = 0; i < node->outputs().size();) {
    const bool done = is_tuple(node->output(i)) && (branch ? split_branch_output(node, i) : split_carried(node, i));
    if (done)
      ++split;
    else
      ++i;
  }
  return split;
}

}  // namespace

std::size_t lower_tuples(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) changed += split_boundaries(node);
  for (ir::Node* node : all_nodes(graph, watch))
    if (read_construction(node)) ++changed;
  return changed;
}

}  // namespace compatcheck::passes
