#include "passes/views.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "passes/effects.h"
#include "passes/memory_marks.h"
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
  return node.schema() && schema::has_trait(node.op(), Trait::split) && !node.inputs().empty() && may_be_tensor(node.input(0)) &&
         !gives_overlapping_parts(node);
}

// x.view(torch.int32) reads the same bytes as other numbers; x.narrow(0, start, 1) with a tensor as start reads it.
bool is_view(const ir::Node& node) {
  if (node.inputs().empty() || !may_be_tensor(node.input(0))) return false;
  if (!schema::has_trait(node.op(), Trait::view) && !is_marked(node, view_mark)) return false;
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
  if (view.is("aten::alias") || view.is("aten::detach") || view.is("aten::lift_fresh") || view.is("prim::data")) return true;
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

bool gives_its_argument(const ir::Node& node) {
  const bool renews = node.is("aten::alias") || node.is("aten::detach") || node.is("prim::data");
  return node.is("aten::lift_fresh") || (schema::has_trait(node.op(), Trait::same_tensor) && !renews);
}

std::unordered_set<std::string> returned_inputs(const ir::Graph& graph) {
  std::unordered_set<std::string> names;
  const auto outputs = graph.outputs();
  std::vector<const ir::Value*> waiting(outputs.begin(), outputs.end());
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    const ir::Value* value = waiting[at];
    const ir::Node* maker = value->producer();
    const auto is_object = [&] { return gives_its_argument(*maker) || schema::without_in_place(maker->op()) != maker->op(); };
    if (!maker && !value->block()->owner())
      names.insert(value->name());
    else if (maker && (maker->is("prim::TupleConstruct") || maker->is("prim::ListConstruct")))
      waiting.insert(waiting.end(), maker->inputs().begin(), maker->inputs().end());
    else if (maker && !maker->inputs().empty() && is_tensor(value) && is_object())
      waiting.push_back(maker->input(0));
  }
  return names;
}

bool is_expansion(const ir::Node& node) {
  return node.is("aten::expand") || node.is("aten::expand_as") || node.is("aten::broadcast_to");
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

// How many integers a list of known items has.
std::optional<std::size_t> item_count(const ir::Value* list) {
  if (list->producer() && list->producer()->is("prim::ListConstruct")) return list->producer()->inputs().size();
  const auto numbers = known_ints(list);
  return numbers ? std::optional(numbers->size()) : std::nullopt;
}

// A list of sizes, x.split([1, 2]); or of places, x.tensor_split([1, 2]).
bool takes_list(const ir::Node& split) { return split.inputs().size() > 1 && ir::is(split.input(1)->type(), ir::TypeKind::list); }
bool cuts_by_places(const ir::Node& split) { return split.is("aten::tensor_split") && takes_list(split); }
bool cuts_by_sizes(const ir::Node& split) { return !split.is("aten::tensor_split") && takes_list(split); }

// From the front; nullopt if it isn't known, or if the list has no such item.
std::optional<std::size_t> part_number(const ir::Value* number, std::size_t count) {
  const auto* at = known<std::int64_t>(number);
  const auto all = static_cast<std::int64_t>(count);
  if (!at || *at < -all || *at >= all) return std::nullopt;
  return static_cast<std::size_t>(*at < 0 ? *at + all : *at);
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
    if (node_.is("aten::__getitem__")) return scatter_part();
    if (node_.is("aten::unfold")) return scatter_windows();
    if (node_.is("aten::as_strided"))
      return make("aten::as_strided_scatter", {parent_, child_, node_.input(1), node_.input(2), node_.input(3)});
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
    if (node_.is("aten::squeeze") || node_.is("aten::unflatten") || node_.is("aten::view") || node_.is("aten::view_as") ||
        is_marked(node_, view_mark) || is_expansion(node_))
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

  // One part of a split of which the others aren't at hand. Where it starts follows from its number.
  ir::Value* scatter_part() {
    const ir::Node& split = split_of(node_);
    if (split.is("aten::unbind")) return make("aten::select_scatter", {parent_, child_, dim_of(split, 1), node_.input(1)});
    ir::Value *dim = dim_of(split, 2), *number = node_.input(1);
    if (cuts_by_places(split)) {
      const auto ends = *known_ints(split.input(1));
      const std::size_t place = *part_number(number, ends.size() + 1);
      const auto bound = [&](std::size_t end) { return constant(end < ends.size() ? ir::Constant{ends[end]} : ir::Constant{}); };
      ir::Value* start = place == 0 ? constant({std::int64_t{0}}) : bound(place - 1);
      return make("aten::slice_scatter", {parent_, child_, dim, start, bound(place), integer(1)});
    }
    ir::Value* start = cuts_by_sizes(split) ? start_by_sizes(split.input(1), number) : start_by_number(split, number);
    ir::Value* end = arithmetic("aten::add", start, size(child_, dim));
    return make("aten::slice_scatter", {parent_, child_, dim, start, end, integer(1)});
  }

  ir::Value* start_by_sizes(const ir::Value* list, const ir::Value* number) {
    const std::size_t place = *part_number(number, *item_count(list));
    ir::Value* start = integer(0);
    for (std::size_t i = 0; i < place; ++i) {
      const auto numbers = known_ints(list);
      start = arithmetic("aten::add", start, numbers ? integer((*numbers)[i]) : list->producer()->input(i));
    }
    return start;
  }

  // Parts of one size, the last one smaller; or, of tensor_split, the first ones greater by one.
  ir::Value* start_by_number(const ir::Node& split, ir::Value* number) {
    ir::Value *whole = size(parent_, dim_of(split, 2)), *given = split.input(1), *one = integer(1);
    const auto rounded_up = [&](ir::Value* by) {
      return arithmetic("aten::floordiv", arithmetic("aten::add", whole, arithmetic("aten::sub", by, one)), by);
    };
    const auto at_least_one = [&](ir::Value* value) { return arithmetic("prim::max", value, one); };
    const bool even = split.is("aten::tensor_split"),
               by_count = even || split.is("aten::chunk") || split.is("aten::unsafe_chunk");
    ir::Value* length = even ? arithmetic("aten::floordiv", whole, given) : by_count ? at_least_one(rounded_up(given)) : given;
    if (const auto* known_number = known<std::int64_t>(number); !known_number || *known_number < 0) {
      ir::Value* count = even ? given : at_least_one(rounded_up(length));
      number = arithmetic("aten::remainder", number, count);
    }
    ir::Value* start = arithmetic("aten::mul", number, length);
    if (!even) return start;
    return arithmetic("aten::add", start, arithmetic("prim::min", number, arithmetic("aten::remainder", whole, given)));
  }

  // Windows beside each other: the positions that they cover are written, one after the other.
  ir::Value* scatter_windows() {
    ir::Value *dim = node_.input(1), *length = node_.input(2), *step = node_.input(3);
    const auto at = *known<std::int64_t>(dim);
    // (…, windows, …, length) → (…, windows * length, …): with the window's own dimension beside that of the windows
    ir::Value *windows_dim = integer(at < 0 ? at - 1 : at), *length_dim = integer(at < 0 ? at : at + 1);
    const auto tensor = [&](std::string op, const std::vector<ir::Value*>& inputs) {
      return make(std::move(op), inputs, ir::tensor_type());
    };
    ir::Value* joined =
        tensor("aten::flatten", {tensor("aten::movedim", {child_, integer(-1), length_dim}), windows_dim, length_dim});
    const auto counted = [&](ir::Value* count) {
      ir::Value* none = constant({});
      return tensor("aten::arange", {count, constant({std::int64_t{4}}), none, none, none});  // i64
    };
    ir::Value* firsts = tensor("aten::unsqueeze", {tensor("aten::mul", {counted(size(child_, windows_dim)), step}), integer(1)});
    ir::Value* all = tensor("aten::add", {firsts, counted(length), integer(1)});
    ir::Value* places = tensor("aten::flatten", {all, integer(0), integer(1)});
    return make("aten::index_copy", {parent_, dim, places, joined});
  }

  ir::Value* integer(std::int64_t number) { return constant({number}); }
  ir::Value* arithmetic(std::string op, ir::Value* a, ir::Value* b) {
    return make(std::move(op), {a, b}, ir::simple_type(ir::TypeKind::integer));
  }
  ir::Value* size(ir::Value* tensor, ir::Value* dim) {
    return make("aten::size", {tensor, dim}, ir::simple_type(ir::TypeKind::integer));
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

bool leaves_gaps(const ir::Node& unfold) {
  const auto *dim = known<std::int64_t>(unfold.input(1)), *size = known<std::int64_t>(unfold.input(2)),
             *step = known<std::int64_t>(unfold.input(3));
  return dim && size && step && *size >= 1 && *step >= *size;
}

// Whether it is known where the part with this number lies.
bool is_known_part(const ir::Node& part) {
  const ir::Node& split = split_of(part);
  if (split.inputs().size() < 2) return split.is("aten::unbind");
  if (cuts_by_places(split)) {
    const auto ends = known_ints(split.input(1));
    return ends && part_number(part.input(1), ends->size() + 1);
  }
  if (!cuts_by_sizes(split)) return true;
  const auto count = item_count(split.input(1));
  return count && part_number(part.input(1), *count);
}

}  // namespace

std::string_view put_back_obstacle(const ir::Value* view) {
  const ir::Node& node = *view->producer();
  const bool apart = is_marked(node, apart_mark) || (node.is("aten::expand_as") && node.input(0) == node.input(1));
  if (is_expansion(node)) return apart ? "" : "an expanded view, whose elements share memory";
  if (node.is("aten::unfold") && !leaves_gaps(node)) return "windows that may overlap";
  if (node.is("aten::as_strided") && !apart) return "a view by strides, whose elements may share memory";
  if (node.is("aten::permute") && !undone(node.input(1))) return "a permutation that isn't known";
  if (node.is("aten::__getitem__") && !is_known_part(node)) return "one of parts that aren't all known";
  return {};
}

bool is_expanded_part(const ir::Value* value) {
  const ir::Node* node = value->producer();
  if (node && (node->is("prim::ListUnpack") || node->is("aten::__getitem__"))) node = node->input(0)->producer();
  return node && (node->is("aten::meshgrid") || node->is("aten::broadcast_tensors"));
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
