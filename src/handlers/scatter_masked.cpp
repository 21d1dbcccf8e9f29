// Writing where a mask holds, by lists of index tensors, and on diagonals.
#include <algorithm>
#include <ranges>

#include "handlers/advanced_index.h"
#include "handlers/families.h"
#include "handlers/scatter.h"

namespace compatcheck::handlers {
namespace {

void masked_fill(Emission& e) {
  const Value self = e.tensor("self");
  e.give(e.node("Where", {e.tensor("mask", DType::boolean), e.number_value("value", self.dtype), self}));
}

// The running count of the mask's true elements is the index of the source's element at each of them.
void masked_scatter(Emission& e) {
  const Shape &from = e.shape("self"), &mask_shape = e.shape("mask"), &to = e.output_shape();
  const Value given = e.tensor("self"), given_mask = e.tensor("mask", DType::boolean);
  Value sizes;
  const auto computed = [&] {
    if (sizes) return sizes;
    return sizes = e.node("Shape", {e.node("Or", {e.cast(given, DType::boolean), given_mask})});
  };
  const Value self = expand_to(e, given, &from, &to, computed), mask = expand_to(e, given_mask, &mask_shape, &to, computed);
  const Value flat_mask = to.size() == 1 ? mask : e.build.reshape(mask, {-1});
  const Value counts = e.node("CumSum", {e.cast(flat_mask, DType::i64), e.build.integer(0)});
  const Value source =
      e.call.rank("source") == 1 ? e.tensor("source", self.dtype) : e.build.reshape(e.tensor("source", self.dtype), {-1});
  // One element in front, so that places before the first true element read something.
  const Value padded = e.build.concat({e.build.reshape(e.scalar(self.dtype, 0), {1}), source}, 0);
  const Value elements = reshape_to(e, e.build.gather(padded, counts, 0), nullptr, &to, [&] { return sizes_of(e, mask); });
  e.give(e.node("Where", {mask, elements, self}));
}

// ---- x[indices] = values

// A mask over one number: masked elements become that number.
void put_one_number(Emission& e) {
  const auto facts = e.call.list("indices");
  const List* items = e.operand("indices").list();
  const Value self = e.tensor("self");
  for (std::size_t i = 0; i < facts->size(); ++i) {
    if ((*facts)[i]->is_none()) continue;
    const Value mask = e.cast(e.as_tensor(items->items.at(i), "indices"), DType::boolean);
    Ints behind;
    const auto covered = static_cast<std::int64_t>((*facts)[i]->tensor()->shape->size());
    for (std::int64_t axis = static_cast<std::int64_t>(i) + covered; axis < e.rank("self"); ++axis)
      behind.push_back(axis - static_cast<std::int64_t>(i));
    const Value value = e.build.reshape(e.tensor("values", self.dtype), {});
    return e.give(e.node("Where", {e.build.unsqueeze(mask, behind), value, self}));
  }
}

// The axes joined into one, in front: a row of the others for each position.
Value put_rows(Emission& e, const IndexPlan& plan, const Value& updates, bool accumulate) {
  const Value data = flat_data(e, plan), places = flat_positions(e, plan);
  const auto kept = plan.rank() - static_cast<std::int64_t>(plan.axes.size());
  const Value flat = e.build.reshape(places, {-1});
  const Dim count = symbolic::product(plan.common());
  Shape shape{Dim(1)}, update_shape{count};
  for (const std::int64_t axis : plan.axes) shape.front() = shape.front() * (*plan.shape)[static_cast<std::size_t>(axis)];
  for (std::int64_t axis = 0; axis < plan.rank(); ++axis) {
    if (std::ranges::find(plan.axes, axis) != plan.axes.end()) continue;
    shape.push_back((*plan.shape)[static_cast<std::size_t>(axis)]);
    update_shape.push_back(shape.back());
  }
  const auto size_of = [&](std::int64_t axis) {
    const auto known = (*plan.shape)[static_cast<std::size_t>(axis)].number();
    return known ? e.integers({*known}) : size_at(e, plan.data, axis);
  };
  const auto sizes = [&] {
    Values parts{count.is_number() ? e.integers({*count.number()}) : size_at(e, flat, 0)};
    for (std::int64_t axis = 0; axis < plan.rank(); ++axis)
      if (std::ranges::find(plan.axes, axis) == plan.axes.end()) parts.push_back(size_of(axis));
    return joined(e, parts);
  };
  Ints behind;
  for (std::int64_t i = 1; i <= kept; ++i) behind.push_back(i);
  Shape rows(shape.size(), Dim(1));
  rows.front() = Dim::unknown();
  Writing w{.data = data,
            .index = e.build.unsqueeze(flat, behind),
            .source = reshape_to(e, updates, nullptr, &update_shape, sizes),
            .axis = 0,
            .shape = shape,
            .index_shape = rows,
            .fills = true};
  const Reduction reduction = accumulate ? Reduction::sum : Reduction::none;
  if (!compares(e, reduction)) w.index = e.node("Expand", {w.index, sizes_of(e, w.source)});
  const Value made = written(e, w, reduction);
  const Ints order = to_front(plan.rank(), plan.axes);
  Shape first;
  for (const std::int64_t axis : order) first.push_back((*plan.shape)[static_cast<std::size_t>(axis)]);
  return reshape_to(e, made, &shape, &first, [&] {
    Values parts;
    for (const std::int64_t axis : order) parts.push_back(size_of(axis));
    return joined(e, parts);
  });
}

Value put_tuples(Emission& e, const IndexPlan& plan, const Value& updates, bool accumulate) {
  const bool leads = std::ranges::equal(plan.axes, to_front(plan.rank(), {}) | std::views::take(plan.axes.size()));
  const Value data = leads ? plan.data : e.build.transpose(plan.data, to_front(plan.rank(), plan.axes));
  if (!accumulate) return e.node("ScatterND", {data, tuples_of(e, plan), updates});
  const DType wide = summing_dtype(data.dtype);
  const Value made = e.node("ScatterND", {e.cast(data, wide), tuples_of(e, plan), e.cast(updates, wide)}, {{"reduction", "add"}});
  return e.cast(made, data.dtype);
}

void give_put(Emission& e, const IndexPlan& plan, const Value& values, const Shape& values_shape, bool accumulate) {
  if (plan.axes.empty()) return e.give(expand_to(e, values, &values_shape, &e.shape("self"), [&] { return e.shape_of("self"); }));
  const Value updates = spread_values(e, plan, values, &values_shape);
  e.give(
      in_place(e, plan, e.variant("tuples") ? put_tuples(e, plan, updates, accumulate) : put_rows(e, plan, updates, accumulate)));
}

void index_put(Emission& e) {
  if (const Shape* self = known_shape(e, "self"); self && has_no_elements(*self)) return e.give(e.tensor("self"));
  if (e.variant("one_number")) return put_one_number(e);
  give_put(e, plan_indices(e), e.tensor("values", e.dtype("self")), e.shape("values"), e.boolean("accumulate"));
}

// Positions may be outside of the tensor; unmasked ones add nothing.
void unsafe_masked_put(Emission& e) {
  const IndexPlan plan = plan_indices(e, true);
  const Value values = e.tensor("values", e.dtype("self"));
  const auto shape = symbolic::broadcast(e.shape("values"), e.shape("mask"));
  const Value kept = e.node("Where", {e.tensor("mask", DType::boolean), values, e.scalar(values.dtype, 0)});
  give_put(e, plan, kept, *shape, true);
}

// ---- Diagonals

// Fills the diagonal of all dimensions; a matrix may have more rows than columns.
void fill_diagonal(Emission& e) {
  const Value self = e.tensor("self"), value = e.number_value("fill_value", self.dtype);
  const std::int64_t rank = e.rank("self");
  if (rank == 2) {
    const Value like = e.cast(self, DType::f32);
    return e.give(e.node("Where", {e.cast(e.node("EyeLike", {like}), DType::boolean), value, self}));
  }
  throw Refusal{"diagonals of more than two dimensions have no ONNX form", "fill by index: x[i, i, i] = value"};
}

}  // namespace

void register_scatter_masked(Registry& registry) {
  registry.handler("aten::masked_fill", masked_fill);
  registry.handler("aten::masked_scatter", masked_scatter);
  registry.handler("aten::index_put", index_put, {"one_number", "tuples"});
  registry.handler("aten::_unsafe_masked_index_put_accumulate", unsafe_masked_put, {"tuples"});
  registry.handler("aten::fill_diagonal", fill_diagonal);
}

}  // namespace compatcheck::handlers
