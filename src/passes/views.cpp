#include "passes/views.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "passes/rewrite.h"
#include "schema/schema.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

using schema::Trait;

bool may_be_tensor(const ir::Value* value) {
  const auto& type = value->type();
  return ir::is(type, ir::TypeKind::tensor) ||
         (ir::is(type, ir::TypeKind::optional) && !type->elements.empty() && ir::is(type->elements[0], ir::TypeKind::tensor));
}

bool is_split(const ir::Node& node) {
  return node.schema() && schema::has_trait(node.op(), Trait::split) && !node.inputs().empty() && may_be_tensor(node.input(0));
}

// x.view(torch.int32) reads the same bytes as other numbers; x.narrow(0, start, 1) with a tensor as start reads it.
bool is_view(const ir::Node& node) {
  if (!schema::has_trait(node.op(), Trait::view) || node.inputs().empty() || !may_be_tensor(node.input(0))) return false;
  if (!node.schema() && !node.is("prim::unchecked_cast")) return false;
  if (node.is("aten::view")) return node.overload() != "dtype";
  return !node.is("aten::narrow") || node.overload() != "Tensor";
}

}  // namespace

Views::Views(const ir::Graph& graph, const Aliases& aliases) : places_(graph.value_limit()) { add(*graph.top(), aliases); }

void Views::add(const ir::Block& block, const Aliases& aliases) {
  for (ir::Value* input : block.inputs()) add(input, aliases);
  for (const ir::Node* node : block) {
    for (const ir::Block* inner : node->blocks()) add(*inner, aliases);
    for (ir::Value* output : node->outputs()) add(output, aliases);
  }
}

void Views::add(ir::Value* value, const Aliases& aliases) {
  Place& place = places_[value->id()];
  const ir::Node* node = value->producer();
  if (node && may_be_tensor(value)) {
    const bool of_parts = node->is("prim::ListUnpack") || node->is("aten::__getitem__");
    if (is_view(*node) || (of_parts && at(node->input(0)).source)) place.source = node->input(0);
  } else if (node && is_split(*node) && ir::is_tensor_list(value->type()) && !aliases.written(value)) {
    place.source = node->input(0);
  }
  if (place.source)
    place.root = root(place.source), place.depth = at(place.source).depth + 1;
  else if (may_be_tensor(value) || ir::is(value->type(), ir::TypeKind::list))
    place.root = value;
}

ir::Value* Views::parent(const ir::Value* value) const {
  ir::Value* source = this->source(value);
  return source && !may_be_tensor(source) ? this->source(source) : source;
}

bool is_whole(const ir::Node& view) {
  if (view.is("aten::alias") || view.is("aten::detach") || view.is("aten::lift_fresh")) return true;
  if (!view.is("aten::slice") || view.inputs().size() != 5) return false;
  const ir::Constant* start = ir::constant_of(view.input(2));
  const ir::Constant* end = ir::constant_of(view.input(3));
  const auto* step = known<std::int64_t>(view.input(4));
  if (!start || !end || !step || *step != 1) return false;
  const auto* from = start->get<std::int64_t>();
  const auto* to = end->get<std::int64_t>();
  return (start->is_none() || (from && *from == 0)) &&
         (end->is_none() || (to && *to == std::numeric_limits<std::int64_t>::max()));
}

// ---- Putting back

namespace {

const ir::Node& split_of(const ir::Node& unpack) { return *unpack.input(0)->producer(); }

std::optional<std::vector<std::int64_t>> known_ints(const ir::Value* list) {
  if (const ir::Constant* constant = ir::constant_of(list)) return ir::as_ints(*constant);
  if (!list->producer() || !list->producer()->is("prim::ListConstruct")) return std::nullopt;
  std::vector<std::int64_t> all;
  for (const ir::Value* item : list->producer()->inputs()) {
    const auto* number = known<std::int64_t>(item);
    if (!number) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

// dims that undo a permutation; nullopt if it isn't known.
std::optional<ir::ListConstant> undone(const ir::Value* dims) {
  const auto order = known_ints(dims);
  if (!order) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(order->size());
  ir::ListConstant back{ir::simple_type(ir::TypeKind::integer), ir::Constants(order->size(), ir::Constant{std::int64_t{-1}})};
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t at = (*order)[static_cast<std::size_t>(i)];
    if (at < -rank || at >= rank) return std::nullopt;
    back.items[static_cast<std::size_t>(at < 0 ? at + rank : at)] = {i};
  }
  return back;
}

// Nodes that put a view back.
class PutBack {
 public:
  PutBack(const ir::Value* view, ir::Value* parent, ir::Value* child, ir::Node* place, const ir::Node& origin,
          const schema::Registry& registry)
      : node_(*view->producer()), parent_(parent), child_(child), place_(place), origin_(origin), registry_(registry) {}

  ir::Value* run(std::span<ir::Value* const> parts) {
    if (is_whole(node_) || node_.is("prim::unchecked_cast") || node_.is("aten::_unwrap_optional")) return child_;
    if (node_.is("prim::ListUnpack")) return join(parts);
    if (node_.is("aten::__getitem__"))
      return make("aten::select_scatter", {parent_, child_, dim_of(split_of(node_), 1), node_.input(1)});
    if (node_.is("aten::select") || node_.is("aten::slice") || node_.is("aten::diagonal")) return scatter();
    if (node_.is("aten::narrow")) return scatter_narrow();
    if (node_.is("aten::unsqueeze")) return make("aten::squeeze", {child_, node_.input(1)});
    if (node_.is("aten::permute")) {
      ir::Value* back = constant(ir::Constant{*undone(node_.input(1))});
      return make("aten::permute", {child_, back});
    }
    if (node_.is("aten::movedim") || node_.is("aten::moveaxis"))
      return make(node_.op(), {child_, node_.input(2), node_.input(1)});
    if (node_.is("aten::view_as_real")) return make("aten::view_as_complex", {child_});
    if (node_.is("aten::view_as_complex")) return make("aten::view_as_real", {child_});
    if (node_.is("aten::squeeze") || node_.is("aten::unflatten") || node_.is("aten::view") || node_.is("aten::view_as"))
      return make("aten::reshape_as", {child_, parent_});
    return transpose_again();
  }

 private:
  ir::Value* constant(ir::Constant value) {
    ir::Value* made = constant_before(place_, std::move(value));
    made->producer()->copy_origin(origin_);
    return made;
  }

  ir::Value* make(std::string op, const std::vector<ir::Value*>& inputs, ir::TypeRef type) {
    ir::Node* node = node_before(place_, std::move(op), inputs, {&type, 1});
    node->copy_origin(origin_);
    const schema::Schema* schema = schema::match(*node, registry_);
    node->set_schema(schema);
    if (schema) node->set_overload(schema->overload);
    return node->output();
  }
  ir::Value* make(std::string op, const std::vector<ir::Value*>& inputs) { return make(std::move(op), inputs, parent_->type()); }

  // x.select(…) → select_scatter(x, new, …)
  ir::Value* scatter() {
    std::vector<ir::Value*> inputs{parent_, child_};
    inputs.insert(inputs.end(), node_.inputs().begin() + 1, node_.inputs().end());
    return make(node_.op() + "_scatter", inputs);
  }

  // A start below zero counts from the end, where start + length may be 0: the start is made positive first.
  ir::Value* scatter_narrow() {
    const ir::TypeRef integer = ir::simple_type(ir::TypeKind::integer);
    ir::Value* start = node_.input(2);
    const auto* number = known<std::int64_t>(start);
    if (!number || *number < 0) {
      ir::Value* size = make("aten::size", {parent_, node_.input(1)}, integer);
      start = make("aten::remainder", {start, size}, integer);
    }
    ir::Value* end = make("aten::add", {start, node_.input(3)}, integer);
    return make("aten::slice_scatter", {parent_, child_, node_.input(1), start, end, constant({std::int64_t{1}})});
  }

  ir::Value* join(std::span<ir::Value* const> parts) {
    const ir::Node& split = split_of(node_);
    const bool unbound = split.is("aten::unbind");
    ir::Value* list = make("prim::ListConstruct", {parts.begin(), parts.end()}, ir::list_of(ir::tensor_type()));
    return make(unbound ? "aten::stack" : "aten::cat", {list, dim_of(split, unbound ? 1 : 2)});
  }

  // Text written by hand may leave it out.
  ir::Value* dim_of(const ir::Node& split, std::size_t argument) {
    return argument < split.inputs().size() ? split.input(argument) : constant({std::int64_t{0}});
  }

  // Operators that undo themselves.
  ir::Value* transpose_again() {
    std::vector<ir::Value*> inputs(node_.inputs().begin(), node_.inputs().end());
    inputs[0] = child_;
    return make(node_.op(), inputs);
  }

  const ir::Node& node_;
  ir::Value* parent_;
  ir::Value* child_;
  ir::Node* place_;
  const ir::Node& origin_;
  const schema::Registry& registry_;
};

}  // namespace

std::string_view put_back_obstacle(const ir::Value* view) {
  const ir::Node& node = *view->producer();
  if (node.is("aten::expand") || node.is("aten::expand_as") || node.is("aten::broadcast_to"))
    return "an expanded view, whose elements share memory";
  if (node.is("aten::unfold")) return "windows that may overlap";
  if (node.is("aten::permute") && !undone(node.input(1))) return "a permutation that isn't known";
  if (node.is("aten::__getitem__") && !split_of(node).is("aten::unbind")) return "one of parts that aren't all known";
  return {};
}

bool is_expanded_part(const ir::Value* value) {
  const ir::Node* node = value->producer();
  if (node && (node->is("prim::ListUnpack") || node->is("aten::__getitem__"))) node = node->input(0)->producer();
  return node && (node->is("aten::meshgrid") || node->is("aten::broadcast_tensors") || node->is("aten::align_tensors"));
}

std::span<ir::Value* const> parts_beside(const ir::Value* view) {
  return view->producer()->is("prim::ListUnpack") ? view->producer()->outputs() : std::span<ir::Value* const>();
}

ir::Value* put_back(const ir::Value* view, ir::Value* parent, ir::Value* child, std::span<ir::Value* const> parts,
                    ir::Node* place, const ir::Node& origin, const schema::Registry& registry) {
  return PutBack(view, parent, child, place, origin, registry).run(parts);
}

bool reads_only_form(const ir::Node& node, std::size_t operand) {
  if (operand == 0) return schema::has_trait(node.op(), Trait::reads_form);
  return operand == 1 && schema::has_trait(node.op(), Trait::reads_second_form);
}

}  // namespace compatcheck::passes
