// Writing where a mask holds, by lists of index tensors, and on diagonals.
#include <algorithm>
#include <ranges>

#include "handlers/advanced_index.h"
#include "handlers/families.h"
#include "handlers/padding.h"
#include "handlers/scatter.h"
#include "handlers/strided.h"

namespace compatcheck::handlers {
namespace {

void masked_fill(Emission& e) {
  const Value self = e.tensor("self");
  e.give(e.node("Where", {e.tensor("mask", DType::boolean), e.number_value("value", self.dtype), self}));
}

// The mask's count so far says which element of the source stands at each place where it holds.
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
  const Value taken = reshape_to(e, e.build.gather(padded, counts, 0), nullptr, &to, [&] { return sizes_of(e, mask); });
  e.give(e.node("Where", {mask, taken, self}));
}

// ---- x[indices] = values

const Shape& shape_of(const Emission& e, std::string_view tensor) { return e.shape(tensor); }

// A mask over one number: what it covers becomes that number.
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
  Shape shape{Dim(1)}, taken{count};
  for (const std::int64_t axis : plan.axes) shape.front() = shape.front() * (*plan.shape)[static_cast<std::size_t>(axis)];
  for (std::int64_t axis = 0; axis < plan.rank(); ++axis) {
    if (std::ranges::find(plan.axes, axis) != plan.axes.end()) continue;
    shape.push_back((*plan.shape)[static_cast<std::size_t>(axis)]);
    taken.push_back(shape.back());
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
            .source = reshape_to(e, updates, nullptr, &taken, sizes),
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
  give_put(e, plan_indices(e), e.tensor("values", e.dtype("self")), shape_of(e, "values"), e.boolean("accumulate"));
}

// Positions may lie outside; what the mask leaves out adds nothing.
void unsafe_masked_put(Emission& e) {
  const IndexPlan plan = plan_indices(e, true);
  const Value values = e.tensor("values", e.dtype("self"));
  const auto shape = symbolic::broadcast(e.shape("values"), e.shape("mask"));
  const Value kept = e.node("Where", {e.tensor("mask", DType::boolean), values, e.scalar(values.dtype, 0)});
  give_put(e, plan, kept, *shape, true);
}

// ---- At positions known while converting

// Of the flattened tensor.
void give_at(Emission& e, const Ints& positions, std::string_view source) {
  const Value self = e.build.reshape(e.tensor("self"), {-1}), updates = e.build.reshape(e.tensor(source, self.dtype), {-1});
  if (positions.empty()) return e.give(e.tensor("self"));
  const Writing w{.data = self,
                  .index = e.integers(positions),
                  .source = updates,
                  .axis = 0,
                  .shape = {symbolic::product(e.shape("self"))},
                  .index_shape = {Dim(static_cast<std::int64_t>(positions.size()))}};
  const Shape& shape = e.shape("self");
  e.give(reshape_to(e, written(e, w, Reduction::none), nullptr, &shape, [&] { return e.shape_of("self"); }));
}

// Of sizes that aren't known: each row (above the main diagonal; else each column) holds its element of the diagonal everywhere,
// and a mask chooses the place.
void scatter_by_mask(Emission& e, std::int64_t a, std::int64_t b, std::int64_t offset) {
  const std::int64_t rank = e.rank("self");
  Ints order;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) order.push_back(i);
  order.insert(order.end(), {a, b});
  const Value self = e.build.transpose(e.tensor("self"), order), source = e.tensor("src", self.dtype);
  const Value rows = places_of(e, size_at(e, self, rank - 2)), columns = places_of(e, size_at(e, self, rank - 1));
  const Value mask =
      e.node("Equal", {difference(e, e.build.unsqueeze(columns, {0}), e.build.unsqueeze(rows, {1})), e.integers({offset})});
  // Behind the diagonal's end the zero after it is read, of which the mask takes none.
  const Value& along = offset >= 0 ? rows : columns;
  const Value length = size_at(e, source, rank - 2);
  const Value index = e.node("Where", {e.node("Less", {along, length}), along, length});
  Ints none(static_cast<std::size_t>(rank) - 1, 0), after = none;
  after.back() = 1;
  const Value ended = padded(e, source, known_shape(e, "src"), none, after, e.scalar(self.dtype, 0));
  const Value spread = e.build.unsqueeze(e.build.gather(ended, index, rank - 2), {offset >= 0 ? rank - 1 : rank - 2});
  e.give(e.build.transpose(e.node("Where", {mask, spread, self}), inverse(order)));
}

void diagonal_scatter(Emission& e) {
  if (!numbers_of(e.shape("self"))) return scatter_by_mask(e, e.axis("dim1"), e.axis("dim2"), e.integer("offset"));
  const std::int64_t rank = e.rank("self"), a = e.axis("dim1"), b = e.axis("dim2"), offset = e.integer("offset");
  Ints sizes(static_cast<std::size_t>(rank)), strides = sizes;
  std::int64_t stride = 1;
  for (std::int64_t i = rank; i-- > 0;) {
    sizes[static_cast<std::size_t>(i)] = e.known_size("self", i);
    strides[static_cast<std::size_t>(i)] = stride;
    stride *= sizes[static_cast<std::size_t>(i)];
  }
  const auto at = [](const Ints& ints, std::int64_t i) { return ints[static_cast<std::size_t>(i)]; };
  Ints kept, kept_strides;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) kept.push_back(at(sizes, i)), kept_strides.push_back(at(strides, i));
  const std::int64_t length =
      offset >= 0 ? std::min(at(sizes, a), at(sizes, b) - offset) : std::min(at(sizes, a) + offset, at(sizes, b));
  kept.push_back(std::max<std::int64_t>(0, length));
  kept_strides.push_back(at(strides, a) + at(strides, b));
  give_at(e, strided_positions(kept, kept_strides, offset >= 0 ? offset * at(strides, b) : -offset * at(strides, a)), "src");
}

void as_strided_scatter(Emission& e) {
  const symbolic::Layout self = layout_of_self(e);
  if (!self.in_order || !self.offset.number())
    throw Refusal{"strides count elements in memory, and the tensor doesn't lie there in order", "call .contiguous() before it"};
  const Ints positions = strided_positions(e.ints("size"), e.ints("stride"), storage_offset(e, self) - *self.offset.number());
  const auto count = symbolic::product(e.shape("self")).number();
  if (std::ranges::any_of(positions, [&](std::int64_t at) { return at < 0 || (count && at >= *count); }))
    throw Refusal{"what is written lies beyond the tensor's own elements"};
  give_at(e, positions, "src");
}

// Of every dimension; a matrix may have more rows than columns.
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

void register_masked(Registry& registry) {
  registry.handler("aten::masked_fill", masked_fill);
  registry.handler("aten::masked_scatter", masked_scatter);
  registry.handler("aten::index_put", index_put, {"one_number", "tuples"});
  registry.handler("aten::_unsafe_masked_index_put_accumulate", unsafe_masked_put, {"tuples"});
  registry.handler("aten::diagonal_scatter", diagonal_scatter);
  registry.handler("aten::as_strided_scatter", as_strided_scatter);
  registry.handler("aten::fill_diagonal", fill_diagonal);
}

}  // namespace compatcheck::handlers
