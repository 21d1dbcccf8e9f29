// Views: the same elements under another shape or in another order of dimensions; sliding windows.
#include <algorithm>
#include <functional>
#include <numeric>

#include "handlers/families.h"
#include "handlers/sizes.h"
#include "symbolic/emptiness.h"

namespace compatcheck::handlers {
namespace {

void same_elements(Emission& e) { e.give_operand(0, e.operand("self")); }

// ---- Shapes

void give_reshaped(Emission& e, const std::function<Value()>& sizes) {
  e.give(reshape_to(e, e.tensor("self"), known_shape(e, "self"), known_output_shape(e), sizes));
}

void view(Emission& e) {
  const std::string_view sizes = e.call.has("size") ? "size" : "shape";
  give_reshaped(e, [&] { return e.int_vector(sizes); });
}

void view_as(Emission& e) {
  give_reshaped(e, [&] { return e.shape_of("other"); });
}

void reshape_from_tensor(Emission& e) {
  give_reshaped(e, [&] { return e.tensor("shape", DType::i64); });
}

// Sizes stay up to `axis` and from `after` on, between them stand `middle`.
Value sizes_around(Emission& e, std::int64_t axis, const Value& middle, std::int64_t after) {
  Values parts;
  for (std::int64_t i = 0; i < axis; ++i) parts.push_back(e.size_of("self", i));
  parts.push_back(middle);
  for (std::int64_t i = after; i < e.rank("self"); ++i) parts.push_back(e.size_of("self", i));
  return joined(e, parts);
}

void flatten(Emission& e) {
  if (e.variant("operator")) return e.give(e.node("Flatten", {e.tensor("self")}, {{"axis", 1}}));
  if (const auto* to = known_output_shape(e); !to || (e.call.rank("self") == 0))
    return e.give(e.build.reshape(e.tensor("self"), {-1}));
  const std::int64_t first = e.axis("start_dim"), last = e.axis("end_dim");
  give_reshaped(e, [&] {  // Reshape can't infer a size if another one is 0
    Values merged;
    for (std::int64_t axis = first; axis <= last; ++axis) merged.push_back(e.size_of("self", axis));
    return sizes_around(e, first, product_of(e, merged), last + 1);
  });
}

void ravel(Emission& e) { e.give(e.call.rank("self") == 1 ? e.tensor("self") : e.build.reshape(e.tensor("self"), {-1})); }

// The sizes that a dimension is parted into. Beside a size of 0, Reshape can't find out another one.
Value parted_sizes(Emission& e, std::int64_t axis) {
  const auto sizes = e.call.ints("sizes");
  const auto open = sizes ? std::ranges::find(*sizes, -1) : std::vector<std::int64_t>::const_iterator();
  if (!sizes || open == sizes->end()) return e.int_vector("sizes");
  Values parts;
  std::int64_t others = 1;
  for (const std::int64_t size : *sizes) others *= size == -1 ? 1 : size;
  for (const std::int64_t size : *sizes)
    parts.push_back(size == -1 ? quotient(e, e.size_of("self", axis), e.integers({others})) : e.integers({size}));
  return joined(e, parts);
}

void unflatten(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  if (e.rank("self") == 0) return e.give(e.build.reshape(e.tensor("self"), e.ints("sizes")));
  give_reshaped(e, [&] { return sizes_around(e, axis, parted_sizes(e, axis), axis + 1); });
}

// ---- Dimensions of size 1

void unsqueeze(Emission& e) {
  const std::int64_t dim = e.integer("dim");
  const std::int64_t axis = dim < 0 ? e.wrap(dim, e.rank("self") + 1) : dim;
  e.give(e.build.unsqueeze(e.tensor("self"), {axis}));
}

// Whether a dimension of unknown size is 1 shows when the model runs. `value`: self without later dimensions of size 1.
Value squeezed_if_one(Emission& e, const Value& value, std::int64_t axis) {
  const Value one = e.node("Equal", {e.size_of("self", axis), e.integers({1})});
  const auto squeezed = e.build.begin_body();
  e.build.end_body({e.node("Squeeze", {value}, {{"axes", Ints{axis}}})});
  const auto kept = e.build.begin_body();
  e.build.end_body({e.build.again(value)});
  return e.build
      .control("If", {e.build.reshape(one, {})}, {{"then_branch", squeezed}, {"else_branch", kept}}, {value.dtype}, {false})
      .front();
}

void squeeze(Emission& e) {
  const Value self = e.tensor("self");
  if (!e.call.has("dim") && (!e.call.rank("self") || !known_output_shape(e)))
    return e.give(e.node("Squeeze", {self}));  // whichever are 1
  const Shape& shape = e.shape("self");
  Ints axes;
  if (!e.call.has("dim") || e.call.fact("dim").list()) {
    axes = e.call.has("dim") && e.ints("dim").empty() ? Ints{} : e.axes(e.call.has("dim") ? "dim" : "", "self");
  } else if (e.rank("self") > 0)
    axes = {e.axis("dim")};
  Ints ones, open;
  for (const std::int64_t axis : axes) {
    const Dim& size = shape[static_cast<std::size_t>(axis)];
    if (provably_equal(size, 1))
      ones.push_back(axis);
    else if (!symbolic::never_one(size))
      open.push_back(axis);
  }
  if (open.empty()) return e.give(e.build.squeeze(self, ones));
  if (!e.at_least(11))
    throw Refusal{"whether the size of dimension " + std::to_string(open.front()) +
                      " is 1 isn't known, and before opset 11 both branches of If give the same sizes",
                  "use opset 11, or numbers as sizes, such as --input x=f32:1,3,224,224"};
  Value made = self;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {  // the axes before it keep their places
    if (std::ranges::find(open, *axis) != open.end())
      made = squeezed_if_one(e, made, *axis);
    else if (std::ranges::find(ones, *axis) != ones.end())
      made = e.node("Squeeze", {made}, {{"axes", Ints{*axis}}});
  }
  e.give(made);
}

// Vectors stand between the dimensions that are put in front of and behind them.
template <std::int64_t least_rank>
Value with_dimensions(Emission& e, const Value& value, std::int64_t rank) {
  if (rank >= least_rank) return value;
  if (rank == 0) return e.build.reshape(value, Ints(static_cast<std::size_t>(least_rank), 1));
  if (rank == 1) return e.build.unsqueeze(value, least_rank == 2 ? Ints{0} : Ints{0, 2});
  return e.build.unsqueeze(value, {2});
}

template <std::int64_t least_rank>
void atleast(Emission& e) {
  if (e.call.has("self")) return e.give(with_dimensions<least_rank>(e, e.tensor("self"), e.rank("self")));
  Values tensors = e.tensors("tensors");
  const auto facts = e.call.list("tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* tensor = (*facts)[i]->tensor();
    if (!tensor || !tensor->shape) e.want("tensors", "the rank");
    tensors[i] = with_dimensions<least_rank>(e, tensors[i], static_cast<std::int64_t>(tensor->shape->size()));
  }
  e.give_list(0, tensors);
}

// ---- Order of dimensions

void permute(Emission& e) {
  Ints dims = e.ints("dims");
  for (std::int64_t& dim : dims) dim = e.wrap(dim, static_cast<std::int64_t>(dims.size()));
  e.give(e.build.transpose(e.tensor("self"), dims));
}

void give_swapped(Emission& e, std::int64_t a, std::int64_t b) {
  Ints permutation(static_cast<std::size_t>(e.rank("self")));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (!permutation.empty()) std::swap(permutation[static_cast<std::size_t>(a)], permutation[static_cast<std::size_t>(b)]);
  e.give(e.build.transpose(e.tensor("self"), permutation));
}

void transpose(Emission& e) {
  const bool named = e.call.has("dim0");  // swapaxes has axis0
  give_swapped(e, e.axis(named ? "dim0" : "axis0"), e.axis(named ? "dim1" : "axis1"));
}

void t(Emission& e) {
  const std::int64_t rank = e.rank("self");
  give_swapped(e, 0, std::max<std::int64_t>(rank, 1) - 1);
}

void matrix_transpose(Emission& e) {
  const std::int64_t rank = e.rank("self");
  if (rank < 2) throw Refusal{"matrices are transposed, and there are fewer than two dimensions"};
  give_swapped(e, rank - 2, rank - 1);
}

void reverse_dims(Emission& e) {
  if (!e.call.rank("self")) return e.give(e.node("Transpose", {e.tensor("self")}));
  Ints permutation(static_cast<std::size_t>(e.rank("self")));
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  e.give(e.build.transpose(e.tensor("self"), permutation));
}

void movedim(Emission& e) {
  const std::int64_t rank = e.rank("self");
  const Ints from = e.ints("source"), to = e.ints("destination");
  if (from.size() != to.size()) throw Refusal{"PyTorch moves as many dimensions as there are places"};
  Ints permutation(static_cast<std::size_t>(rank), -1), sources;
  for (std::size_t i = 0; i < from.size() && rank > 0; ++i) {
    sources.push_back(e.wrap(from[i], rank));
    permutation[static_cast<std::size_t>(e.wrap(to.at(i), rank))] = sources.back();
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : permutation) {
    if (axis >= 0) continue;
    while (std::ranges::find(sources, next) != sources.end()) ++next;
    axis = next++;
  }
  e.give(e.build.transpose(e.tensor("self"), permutation));
}

// ---- Windows

// Start and contents of each window.
Value window_positions(Emission& e, std::int64_t axis, std::int64_t size, std::int64_t step) {
  if (const auto whole = e.size("self", axis)) {
    Ints positions;
    const std::int64_t count = (*whole - size) / step + 1;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < size; ++k) positions.push_back(i * step + k);
    return e.build.reshape(e.integers(positions), {count, size});
  }
  if (!e.at_least(9)) e.want("self", "the size of dimension " + std::to_string(axis));
  const Value count =
      sum(e, quotient(e, difference(e, e.size_of("self", axis), e.integers({size})), e.integers({step})), e.integers({1}));
  const Value starts = product(e, places_of(e, count), e.integers({step}));
  return e.node("Add", {e.build.unsqueeze(starts, {1}), e.build.unsqueeze(places_of(e, e.integers({size})), {0})});
}

void unfold(Emission& e) {
  const std::int64_t size = e.integer("size"), step = e.integer("step"), rank = e.rank("self");
  const Value self = e.tensor("self");
  if (rank == 0) return e.give(size == 0 ? e.build.slice(e.build.reshape(self, {1}), {0}, {0}, {0}) : e.build.reshape(self, {1}));
  const std::int64_t axis = e.axis("dimension");
  const Value windows = e.build.gather(self, window_positions(e, axis, size, step), axis);
  Ints order;
  for (std::int64_t i = 0; i <= rank; ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  e.give(e.build.transpose(windows, order));
}

// ---- Broadcasts

// The requested sizes, with 1 where −1 keeps the size: ONNX stretches to the greater.
Value expanded_sizes(Emission& e) {
  const auto dims = e.call.dims("size");
  const List* items = e.operand("size").list();
  if (!dims || (!items && !e.call.ints("size"))) return e.node("Abs", {e.int_vector("size")});
  Values parts;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if (const auto known = (*dims)[i].number()) {
      parts.push_back(e.integers({*known == -1 ? 1 : *known}));
      continue;
    }
    const Value size = e.as_vector(items->items.at(i), "size");
    parts.push_back(provably_at_least((*dims)[i], 0) ? size : e.node("Abs", {size}));  // −1 is 1
  }
  return joined(e, parts);
}

void expand(Emission& e) {
  e.give(expand_to(e, e.tensor("self"), known_shape(e, "self"), known_output_shape(e), [&] { return expanded_sizes(e); }));
}

void expand_as(Emission& e) {
  e.give(expand_to(e, e.tensor("self"), known_shape(e, "self"), known_output_shape(e), [&] { return e.shape_of("other"); }));
}

}  // namespace

void register_view(Registry& registry) {
  for (const char* op : {"aten::clone", "aten::contiguous", "aten::detach", "aten::alias", "aten::lift", "aten::resolve_conj",
                         "aten::resolve_neg"})
    registry.handler(op, same_elements);
  for (const char* op : {"aten::view", "aten::reshape", "aten::_reshape_copy", "aten::_reshape_alias"})
    registry.handler(op, view);
  registry.handler("aten::view_as", view_as);
  registry.handler("aten::reshape_as", view_as);
  registry.handler("aten::_reshape_from_tensor", reshape_from_tensor);
  registry.handler("aten::flatten", flatten, {"operator"});
  registry.handler("aten::ravel", ravel);
  registry.handler("aten::unflatten", unflatten);
  registry.handler("aten::unsqueeze", unsqueeze);
  registry.handler("aten::squeeze", squeeze);
  registry.handler("aten::atleast_1d", atleast<1>);
  registry.handler("aten::atleast_2d", atleast<2>);
  registry.handler("aten::atleast_3d", atleast<3>);
  registry.handler("aten::permute", permute);
  for (const char* op : {"aten::transpose", "aten::swapaxes", "aten::swapdims"}) registry.handler(op, transpose);
  registry.handler("aten::t", t);
  registry.handler("aten::mT", matrix_transpose);
  registry.handler("aten::numpy_T", reverse_dims);
  registry.handler("aten::movedim", movedim);
  registry.handler("aten::unfold", unfold);
  registry.handler("aten::expand", expand);
  registry.handler("aten::broadcast_to", expand);
  registry.handler("aten::expand_as", expand_as);
}

}  // namespace compatcheck::handlers
