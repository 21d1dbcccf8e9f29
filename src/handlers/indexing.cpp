// Reading at computed positions.
#include <algorithm>

#include "handlers/advanced_index.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void index(Emission& e) { e.give(indexed(e, plan_indices(e))); }

// Positions may lie outside, above all where the mask doesn't hold.
void unsafe_masked_index(Emission& e) {
  const Value mask = e.tensor("mask");
  const Value read = indexed(e, plan_indices(e, true));
  e.give(e.node("Where", {mask, read, e.number_value("fill", read.dtype)}));
}

// Without dimensions, tensors count as vectors of one.
Value as_vector(Emission& e, std::string_view tensor, const Value& value) {
  return e.rank(tensor) == 0 ? e.build.reshape(value, {1}) : value;
}
Value without_dims(Emission& e, std::string_view tensor, const Value& value) {
  return e.rank(tensor) == 0 ? e.build.reshape(value, {}) : value;
}

void index_select(Emission& e) {
  const Value read =
      e.build.gather(as_vector(e, "self", e.tensor("self")), as_vector(e, "index", e.tensor("index", DType::i64)), e.axis("dim"));
  e.give(without_dims(e, "self", read));
}

// ---- One position for each element

// index·stride along `axis`, the element's own place along the others: positions in the flattened tensor.
Value flat_places(Emission& e, std::string_view tensor, const Value& index, const Shape& index_shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(index_shape.size());
  Value stride = e.integers({1}), places;
  for (std::int64_t i = rank; i-- > 0;) {
    Value at = index;
    if (i != axis) {
      const auto size = index_shape[static_cast<std::size_t>(i)].number();
      const Value count = size ? e.integers({*size}) : size_at(e, index, i);
      Ints around;
      for (std::int64_t k = 0; k < rank; ++k)
        if (k != i) around.push_back(k);
      at = e.build.unsqueeze(places_of(e, count), around);
    }
    at = product(e, at, e.build.squeeze(stride, {0}));
    places = places ? sum(e, places, at) : at;
    stride = product(e, stride, e.rank(tensor) == 0 ? e.integers({1}) : e.size_of(tensor, i));
  }
  return places;
}

void gather(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  const Value self = as_vector(e, "self", e.tensor("self")), at = as_vector(e, "index", e.tensor("index", DType::i64));
  if (e.at_least(11)) return e.give(without_dims(e, "index", e.node("GatherElements", {self, at}, {{"axis", axis}})));
  const Shape shape = e.rank("index") == 0 ? Shape{1} : e.shape("index");
  const Value read = e.build.gather(e.build.reshape(self, {-1}), flat_places(e, "self", at, shape, axis), 0);
  e.give(without_dims(e, "index", read));
}

Value items_at(Emission& e, std::string_view positions) {
  const Value flat = e.rank("self") == 1 ? e.tensor("self") : e.build.reshape(e.tensor("self"), {-1});
  const Value at = e.tensor(positions, DType::i64);
  return e.build.gather(flat, e.at_least(11) ? at : wrapped(e, at, e.build.squeeze(sizes_of(e, flat), {0})), 0);
}

void take(Emission& e) { e.give(items_at(e, "index")); }

// Both are broadcast, except the dimension that is read.
void take_along_dim(Emission& e) {
  if (!e.given("dim")) return e.give(e.build.reshape(items_at(e, "indices"), {-1}));
  const std::int64_t axis = e.axis("dim");
  const Value self = e.tensor("self"), at = e.tensor("indices", DType::i64);
  const Shape &from = e.shape("self"), &index_shape = e.shape("indices"), &to = e.output_shape();
  if (from.empty()) return e.give(self);
  Shape wide = to;
  wide[static_cast<std::size_t>(axis)] = from[static_cast<std::size_t>(axis)];
  // Expand keeps larger sizes, so each can have the other's sizes.
  const auto sizes = [&](std::string_view own, std::string_view other) {
    return [&e, own, other, axis, &to] {
      Values parts;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const auto d = static_cast<std::int64_t>(i);
        parts.push_back(e.size_of(d == axis ? own : other, d));
      }
      return joined(e, parts);
    };
  };
  const Value data = expand_to(e, self, &from, &wide, sizes("self", "indices")),
              places = expand_to(e, at, &index_shape, &to, sizes("indices", "self"));
  if (e.at_least(11)) return e.give(e.node("GatherElements", {data, places}, {{"axis", axis}}));
  const auto known = numbers_of(wide);
  if (!known) e.want("self", "a size");
  const Value wrapped_places = wrapped(e, places, e.build.squeeze(e.size_of("self", axis), {0}));
  Value stride = e.build.integer(1), flat;
  for (std::int64_t i = static_cast<std::int64_t>(to.size()); i-- > 0;) {
    Ints around;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(to.size()); ++k)
      if (k != i) around.push_back(k);
    const Value own =
        i == axis ? wrapped_places : e.build.unsqueeze(places_of(e, e.integers({(*known)[static_cast<std::size_t>(i)]})), around);
    const Value place = product(e, own, stride);
    flat = flat ? sum(e, flat, place) : place;
    stride = product(e, stride, e.build.integer((*known)[static_cast<std::size_t>(i)]));
  }
  e.give(e.build.gather(e.build.reshape(data, {-1}), flat, 0));
}

// ---- Where something holds

void masked_select(Emission& e) {
  const Shape &from = e.shape("self"), &mask_shape = e.shape("mask");
  const auto to = symbolic::broadcast(from, mask_shape);
  const Value given = e.tensor("self"), given_mask = e.tensor("mask", DType::boolean);
  Value sizes;
  const auto computed = [&] {
    if (sizes) return sizes;
    return sizes = e.node("Shape", {e.node("Or", {e.cast(given, DType::boolean), given_mask})});
  };
  const Value self = expand_to(e, given, &from, &*to, computed), mask = expand_to(e, given_mask, &mask_shape, &*to, computed);
  if (e.at_least(11) && to->size() > 1)
    return e.give(e.node("GatherND", {self, e.build.transpose(nonzero_places(e, mask), {1, 0})}));
  const Value flat = to->size() == 1 ? self : e.build.reshape(self, {-1}),
              flat_mask = to->size() == 1 ? mask : e.build.reshape(mask, {-1});
  e.give(e.build.gather(flat, e.build.reshape(nonzero_places(e, flat_mask), {-1}), 0));
}

// A tensor without dimensions has places without coordinates: rows of no width.
Value nonzero_rows(Emission& e) {
  if (e.call.rank("self") != 0) return e.build.transpose(nonzero_places(e, e.tensor("self")), {1, 0});
  return e.build.slice(e.build.transpose(nonzero_places(e, e.build.reshape(e.tensor("self"), {1})), {1, 0}), {0}, {0}, {1});
}

void nonzero(Emission& e) { e.give(nonzero_rows(e)); }

// Returns `size` rows: those behind the last hold `fill_value`.
void nonzero_static(Emission& e) {
  const std::int64_t rank = e.rank("self");
  const Value size = int_value(e, "size"), width = e.integers({rank});
  const Value fill = e.build.reshape(e.number_value("fill_value", DType::i64), {1, 1});
  const Value more = e.node("Tile", {fill, joined(e, {size, width})});
  e.give(sliced(e, e.build.concat({nonzero_rows(e), more}, 0), 0, e.integers({0}), size));
}

// A vector of places for each dimension.
void nonzero_numpy(Emission& e) {
  const std::string_view tensor = e.call.has("self") ? "self" : "condition";
  const Value places = nonzero_places(e, as_vector(e, tensor, e.tensor(tensor)));
  Values rows;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, e.rank(tensor)); ++i)
    rows.push_back(e.build.gather(places, e.build.integer(i), 0));
  e.give_list(0, rows);
}

// ---- Numbers as rows and as classes

void one_hot(Emission& e) {
  const Value self = e.tensor("self", DType::i64);
  const auto classes = e.call.integer("num_classes");
  if (e.variant("compared")) {
    const Value all = places_of(e, e.integers({*classes}));
    return e.give(e.node("Equal", {e.build.unsqueeze(self, {e.rank("self")}), all}));
  }
  Value depth;
  if (classes && *classes >= 0)
    depth = e.integers({*classes});
  else if (classes)
    depth = sum(e, e.build.reshape(e.node("ReduceMax", {self}, {{"keepdims", 0}}), {1}), e.integers({1}));
  else if (const auto size = e.call.dim("num_classes"); size && provably_at_least(*size, 0))
    depth = int_value(e, "num_classes");
  else {  // -1: as many as the largest class needs
    const Value given = int_value(e, "num_classes");
    const Value all = e.build.concat({e.build.reshape(self, {-1}), e.integers({-1})}, 0);  // there may be no elements
    const Value needed = sum(e, e.node("ReduceMax", {all}, {{"axes", Ints{0}}, {"keepdims", 1}}), e.integers({1}));
    depth = e.node("Where", {e.node("Less", {given, e.integers({0})}), needed, given});
  }
  const Value made =
      e.node("OneHot", {as_vector(e, "self", self), depth, e.integers({0, 1})}, {{"axis", -1}});  // takes no single number
  e.give(e.rank("self") == 0 ? e.build.squeeze(made, {0}) : made);
}

// How many boundaries lie below; NaN is behind all of them.
void bucketize(Emission& e) {
  symbolic::Promotion promotion;
  promotion.add(e.call.fact("self"));
  promotion.add(e.call.fact("boundaries"));
  const DType dtype = promotion.result().value_or(e.dtype("boundaries"));
  const bool scalar = e.call.rank("self").value_or(0) == 0;
  const Value given = e.cast(e.tensor("self"), dtype), boundaries = e.tensor("boundaries", dtype);
  const std::int64_t rank = scalar ? 0 : e.rank("self");
  const Value self = e.build.unsqueeze(given, {rank});
  Value below;
  if (e.boolean("right"))
    below = e.node("Not", {e.node("Greater", {boundaries, self})});
  else if (!ir::is_floating(dtype))
    below = e.node("Less", {boundaries, self});
  else {
    const Value nan = e.node(
        "Not", {e.node("Or", {e.node("Less", {self, e.scalar(dtype, 0)}), e.node("Greater", {self, e.scalar(dtype, -1)})})});
    below = e.node("Or", {e.node("Less", {boundaries, self}), nan});
  }
  e.give(e.node("ReduceSum", {e.cast(below, DType::i64)}, {{"axes", Ints{rank}}, {"keepdims", 0}}));
}

// The first member of a list of numbers that is equal.
void list_index(Emission& e) {
  const Operand& given = e.operand("self");
  const List* list = given.list();
  const Value members = list ? vector_of(*list, e.as_tensor(e.operand("el"), "el").dtype, e.build) : e.as_tensor(given, "self");
  const Value equal = e.node("Equal", {members, e.cast(e.tensor("el"), members.dtype)});
  e.give(e.node("ArgMax", {e.cast(equal, DType::i32)}, {{"axis", 0}, {"keepdims", 0}}));
}

}  // namespace

void register_indexing(Registry& registry) {
  registry.handler("aten::index", index);
  for (const char* op : {"aten::index.list_int", "aten::index.list_float", "aten::index.list_bool"})
    registry.handler(op, list_index);
  registry.handler("aten::_unsafe_masked_index", unsafe_masked_index);
  registry.handler("aten::index_select", index_select);
  registry.handler("aten::gather", gather);
  registry.handler("aten::take", take);
  registry.handler("aten::take_along_dim", take_along_dim);
  registry.handler("aten::masked_select", masked_select);
  registry.handler("aten::nonzero", nonzero);
  registry.handler("aten::nonzero_static", nonzero_static);
  registry.handler("aten::nonzero_numpy", nonzero_numpy);
  registry.handler("aten::where", nonzero_numpy);
  registry.handler("aten::one_hot", one_hot, {"compared"});
  registry.handler("aten::bucketize", bucketize);
}

}  // namespace compatcheck::handlers
