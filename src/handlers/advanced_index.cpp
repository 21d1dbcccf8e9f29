#include "handlers/advanced_index.h"

#include <algorithm>
#include <numeric>

namespace compatcheck::handlers {
namespace {

bool is_mask(DType dtype) { return dtype == DType::boolean || dtype == DType::u8; }

Dim unknown_count() { return Dim::unknown(); }

}  // namespace

Shape IndexPlan::common() const {
  std::optional<Shape> common = Shape{};
  for (const Shape& one : position_shapes) common = symbolic::broadcast(common, one);
  return *common;
}

Value nonzero_places(Emission& e, const Value& value) {
  const bool runs =
      value.dtype == DType::f32 || value.dtype == DType::i64 || value.dtype == DType::i32 || value.dtype == DType::boolean;
  return e.node("NonZero", {runs ? value : e.cast(value, DType::boolean)});
}

namespace {

// A mask stands for as many vectors of positions as it has dimensions.
void add_mask(Emission& e, IndexPlan& plan, const Value& mask, const Shape& shape, std::int64_t axis, bool only) {
  ++plan.masks;
  const bool single = shape.empty();
  const Value places = nonzero_places(e, e.cast(single ? e.build.reshape(mask, {1}) : mask, DType::boolean));
  const std::size_t count = single ? 1 : shape.size();
  if (only && count > 1) plan.tuples = e.build.transpose(places, {1, 0});
  for (std::size_t i = 0; i < count; ++i) {
    plan.axes.push_back(axis + static_cast<std::int64_t>(i));
    plan.position_shapes.push_back({unknown_count()});
    if (plan.tuples)
      plan.positions.push_back({});
    else if (count == 1)
      plan.positions.push_back(e.build.reshape(places, {-1}));
    else
      plan.positions.push_back(e.build.gather(places, e.build.integer(static_cast<std::int64_t>(i)), 0));
  }
}

Value size_of_axis(Emission& e, const IndexPlan& plan, std::int64_t axis) {
  if (plan.shape)
    if (const auto known = (*plan.shape)[static_cast<std::size_t>(axis)].number()) return e.integers({*known});
  return size_at(e, plan.data, axis);
}

}  // namespace

namespace {

// −size … size − 1.
Value clamped_to_size(Emission& e, const Value& positions, const Value& size) {
  const Value low = difference(e, e.build.integer(0), size), high = difference(e, size, e.build.integer(1));
  if (e.at_least(12)) return e.node("Min", {e.node("Max", {positions, low}), high});
  const Value above = e.node("Where", {e.node("Less", {positions, low}), low, positions});
  return e.node("Where", {e.node("Greater", {above, high}), high, above});
}

}  // namespace

IndexPlan plan_indices(Emission& e, bool clamp) {
  IndexPlan plan{.data = e.tensor("self")};
  const Shape* self = known_shape(e, "self");
  if (self) plan.shape = *self;
  const auto facts = e.call.list("indices");
  const List* items = e.operand("indices").list();
  if (!facts || !items) throw Refusal{"how many dimensions are indexed is known only when the model runs"};
  const auto given = std::ranges::count_if(*facts, [](const auto* fact) { return !fact->is_none(); });
  std::int64_t axis = 0;
  bool gap = false;
  for (std::size_t i = 0; i < facts->size(); ++i) {
    const symbolic::Fact& fact = *(*facts)[i];
    if (fact.is_none()) {
      gap = !plan.axes.empty();
      ++axis;
      continue;
    }
    const auto* tensor = fact.tensor();
    if (!tensor || !tensor->dtype || !tensor->shape) e.want("indices", "the rank");
    plan.adjacent &= !gap;
    const Value index = e.as_tensor(items->items.at(i), "indices");
    const auto indexed = static_cast<std::int64_t>(is_mask(*tensor->dtype) ? tensor->shape->size() : 1);
    if (plan.shape && axis + indexed > static_cast<std::int64_t>(plan.shape->size()))
      throw Refusal{"more dimensions are indexed than there are"};
    if (is_mask(*tensor->dtype)) {
      if (tensor->shape->empty()) {
        plan.data = e.build.unsqueeze(plan.data, {axis});
        if (plan.shape) plan.shape->insert(plan.shape->begin() + axis, Dim(1));
      }
      add_mask(e, plan, index, *tensor->shape, axis, given == 1);
      axis += std::max<std::int64_t>(1, indexed);
      continue;
    }
    const Value whole = e.cast(index, DType::i64);
    plan.positions.push_back(clamp ? clamped_to_size(e, whole, e.build.squeeze(size_of_axis(e, plan, axis), {0})) : whole);
    plan.position_shapes.push_back(*tensor->shape);
    plan.axes.push_back(axis++);
  }
  if (plan.positions.empty()) throw Refusal{"no dimension is indexed"};
  return plan;
}

// ---- Reading

namespace {

// All positions in one shape.
Values broadcast_positions(Emission& e, const IndexPlan& plan) {
  const Shape common = plan.common();
  Value sizes;
  const auto computed = [&] {
    if (sizes) return sizes;
    Value all = plan.positions.front();
    for (std::size_t i = 1; i < plan.positions.size(); ++i) all = e.node("Add", {all, plan.positions[i]});
    return sizes = e.node("Shape", {all});
  };
  Values made;
  for (std::size_t i = 0; i < plan.positions.size(); ++i)
    made.push_back(expand_to(e, plan.positions[i], &plan.position_shapes[i], &common, computed));
  return made;
}

// Vectors of one mask have one length, which has no name.
bool from_one_mask(const IndexPlan& plan) {
  return plan.masks == 1 && std::ranges::all_of(plan.position_shapes, [](const Shape& shape) {
           return shape.size() == 1 && shape.front().is_unknown();
         });
}

// Dimensions of the indices in front go to where the result has them.
Value placed(Emission& e, const IndexPlan& plan, const Value& value) {
  const std::int64_t place = plan.place(), front = static_cast<std::int64_t>(plan.common().size());
  Ints order;
  for (std::int64_t i = 0; i < place; ++i) order.push_back(front + i);
  for (std::int64_t i = 0; i < front; ++i) order.push_back(i);
  for (std::int64_t i = place; i < plan.rank() - static_cast<std::int64_t>(plan.axes.size()); ++i) order.push_back(front + i);
  return e.build.transpose(value, order);
}

bool leads(const IndexPlan& plan) {
  for (std::size_t i = 0; i < plan.axes.size(); ++i)
    if (plan.axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Value axes_first(Emission& e, const IndexPlan& plan) {
  if (leads(plan)) return plan.data;
  if (!plan.shape) e.want("self", "the rank");
  return e.build.transpose(plan.data, to_front(plan.rank(), plan.axes));
}

}  // namespace

Value tuples_of(Emission& e, const IndexPlan& plan) {
  if (plan.tuples) return plan.tuples;
  const auto last = static_cast<std::int64_t>(plan.common().size());
  Values columns = plan.positions.size() == 1 ? plan.positions : broadcast_positions(e, plan);
  for (Value& column : columns) column = e.build.unsqueeze(column, {last});
  return e.build.concat(columns, last);
}

Value flat_positions(Emission& e, const IndexPlan& plan) {
  Values columns = plan.positions;
  if (plan.tuples)
    for (std::size_t i = 0; i < columns.size(); ++i)
      columns[i] = e.build.gather(plan.tuples, e.build.integer(static_cast<std::int64_t>(i)), 1);
  Value made;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Value size = size_of_axis(e, plan, plan.axes[i]);
    const Value at = wrapped(e, columns[i], e.build.squeeze(size, {0}));
    made = made ? sum(e, product(e, made, e.build.squeeze(size, {0})), at) : at;
  }
  return made;
}

Value flat_data(Emission& e, const IndexPlan& plan) {
  const Value first = axes_first(e, plan);
  if (plan.axes.size() == 1) return first;
  if (!plan.shape) e.want("self", "the rank");
  Shape to{Dim(1)};
  Values indexed, sizes;
  for (std::int64_t axis = 0; axis < plan.rank(); ++axis) {
    const Dim& dim = (*plan.shape)[static_cast<std::size_t>(axis)];
    if (std::ranges::find(plan.axes, axis) == plan.axes.end()) {
      to.push_back(dim);
      sizes.push_back(size_of_axis(e, plan, axis));
    } else {
      to.front() = to.front() * dim;
      indexed.push_back(size_of_axis(e, plan, axis));
    }
  }
  return reshape_to(e, first, nullptr, &to, [&] {
    sizes.insert(sizes.begin(), product_of(e, indexed));
    return joined(e, sizes);
  });
}

Value indexed(Emission& e, const IndexPlan& plan) {
  if (plan.axes.empty()) return plan.data;
  if (plan.axes.size() == 1) {
    const Value size = e.at_least(11) ? Value{} : e.build.squeeze(size_of_axis(e, plan, plan.axes[0]), {0});
    return e.build.gather(plan.data, e.at_least(11) ? plan.positions[0] : wrapped(e, plan.positions[0], size), plan.axes[0]);
  }
  const Value read = e.at_least(11) ? e.node("GatherND", {axes_first(e, plan), tuples_of(e, plan)})
                                    : e.build.gather(flat_data(e, plan), flat_positions(e, plan), 0);
  return plan.place() == 0 ? read : placed(e, plan, read);
}

// ---- Writing

Value result_sizes(Emission& e, const IndexPlan& plan, std::int64_t place) {
  const Shape common = plan.common();
  Values sizes;
  const auto add_common = [&] {
    const auto known = numbers_of(common);
    if (known) return sizes.push_back(e.integers(*known));
    Value positions;
    if (plan.tuples)
      positions = e.build.gather(plan.tuples, e.build.integer(0), 1);
    else if (from_one_mask(plan))
      positions = plan.positions.front();
    else
      positions = std::accumulate(plan.positions.begin() + 1, plan.positions.end(), plan.positions.front(),
                                  [&](const Value& a, const Value& b) {
                                    return e.node("Add", {a, b});
                                  });
    sizes.push_back(e.node("Shape", {positions}));
  };
  std::int64_t kept = 0;
  for (std::int64_t axis = 0; axis < plan.rank(); ++axis) {
    if (std::ranges::find(plan.axes, axis) != plan.axes.end()) continue;
    if (kept++ == place) add_common();
    sizes.push_back(size_of_axis(e, plan, axis));
  }
  if (kept <= place) add_common();
  return joined(e, sizes);
}

Value spread_values(Emission& e, const IndexPlan& plan, const Value& values, const Shape* shape) {
  if (!plan.shape) e.want("self", "the rank");
  Shape to;
  const Shape common = plan.common();
  for (std::int64_t axis = 0; axis < plan.rank(); ++axis)
    if (std::ranges::find(plan.axes, axis) == plan.axes.end()) to.push_back((*plan.shape)[static_cast<std::size_t>(axis)]);
  const std::int64_t place = plan.place();
  to.insert(to.begin() + place, common.begin(), common.end());
  const Value spread = expand_to(e, values, shape, &to, [&] { return result_sizes(e, plan, place); });
  if (place == 0) return spread;
  Ints front(common.size());
  std::iota(front.begin(), front.end(), place);
  return e.build.transpose(spread, to_front(static_cast<std::int64_t>(to.size()), front));
}

Value in_place(Emission& e, const IndexPlan& plan, const Value& value) {
  const Value back = leads(plan) ? value : e.build.transpose(value, inverse(to_front(plan.rank(), plan.axes)));
  const Shape* self = known_shape(e, "self");
  if (!self || self->size() == plan.shape->size()) return back;
  return reshape_to(e, back, &*plan.shape, self, [&] { return e.shape_of("self"); });
}

}  // namespace compatcheck::handlers
