// Repeating, rolling, flipping, choices of elements, and pixels moved between channels and image.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Repeating

// Counts for the last dimensions; new ones stand in front.
void give_tiled(Emission& e, std::string_view argument) {
  const auto counts = e.call.dims(argument);
  if (!counts) throw Refusal{"how many dimensions are repeated is known only when the model runs", "use a list of fixed length"};
  const std::int64_t rank = e.rank("self"), given = static_cast<std::int64_t>(counts->size());
  Value self = e.tensor("self");
  Ints front;
  for (std::int64_t i = rank; i < given; ++i) front.push_back(i - rank);
  self = e.build.unsqueeze(self, front);
  Values parts;
  if (given < rank) parts.push_back(e.integers(Ints(static_cast<std::size_t>(rank - given), 1)));
  if (given > 0) parts.push_back(e.int_vector(argument));
  const Value repeats = joined(e, parts);
  const auto known = e.build.ints_of(repeats);
  if (known && std::ranges::all_of(*known, [](std::int64_t count) { return count == 1; })) return e.give(self);
  e.give(e.node("Tile", {self, repeats}));
}

void repeat_dims(Emission& e) { give_tiled(e, "repeats"); }
void tile(Emission& e) { give_tiled(e, "dims"); }

// The tensor that repeat_interleave reads, flattened without `dim`.
struct Interleaved {
  Value value;
  std::int64_t axis = 0;
  Dim size;
  Value count;  // number of elements along the axis
};

Interleaved interleaved(Emission& e) {
  const bool flat = !e.given("dim") || e.rank("self") == 0;
  if (!flat) {
    const std::int64_t axis = e.axis("dim");
    return {e.tensor("self"), axis, e.shape("self")[static_cast<std::size_t>(axis)], e.size_of("self", axis)};
  }
  Interleaved made{e.call.rank("self") == 1 ? e.tensor("self") : e.build.reshape(e.tensor("self"), {-1}),
                   0,
                   symbolic::product(e.shape("self")),
                   {}};
  made.count = made.size.is_number() ? e.integers({*made.size.number()}) : sizes_of(e, made.value);
  return made;
}

// Each element the same number of times: side by side in a new dimension, which then joins the old one.
void repeat_each(Emission& e) {
  const Interleaved self = interleaved(e);
  const bool flat = !e.given("dim") || e.rank("self") == 0;
  const std::int64_t rank = flat ? 1 : e.rank("self");
  const Value apart = e.build.unsqueeze(self.value, {self.axis + 1});
  Values counts(static_cast<std::size_t>(rank + 1), e.integers({1})), sizes;
  counts[static_cast<std::size_t>(self.axis + 1)] = int_value(e, "repeats");
  const Value repeated = e.node("Tile", {apart, joined(e, counts)});
  if (rank == 1) return e.give(e.build.reshape(repeated, {-1}));
  for (std::int64_t i = 0; i < rank; ++i)
    sizes.push_back(i == self.axis ? product(e, self.count, int_value(e, "repeats")) : e.size_of("self", i));
  e.give(reshape_to(e, repeated, nullptr, nullptr, [&] { return joined(e, sizes); }));
}

// Each position, repeated as often as `repeats` states: a table has one row for each position and as many columns as the
// largest count; the result lists its true cells.
Value repeated_positions(Emission& e, const Value& repeats) {
  if (const auto known = e.build.ints_of(repeats)) {
    Ints positions;
    for (std::size_t i = 0; i < known->size(); ++i)
      positions.insert(positions.end(), static_cast<std::size_t>(std::max<std::int64_t>((*known)[i], 0)),
                       static_cast<std::int64_t>(i));
    return e.integers(positions);
  }
  const Value most = e.node("ReduceMax", {repeats}, {{"axes", Ints{0}}, {"keepdims", 1}});
  const Value row = e.build.unsqueeze(counting(e, most), {0}), column = e.build.unsqueeze(repeats, {1});
  const Value places = e.node("NonZero", {e.node("Less", {row, column})});
  return e.build.gather(places, e.build.integer(0), 0);
}

// Where `repeats` has one element it counts for all. As far as facts tell: a constant's elements are read.
void repeat_by_tensor(Emission& e) {
  const Interleaved self = interleaved(e);
  Value repeats = e.tensor("repeats", DType::i64);
  if (e.rank("repeats") == 0) repeats = e.build.reshape(repeats, {1});
  const Shape& shape = e.shape("repeats");
  const Dim given = shape.empty() ? Dim(1) : shape.front();
  const auto each = given.number() == 1 ? e.build.ints_of(repeats) : std::nullopt;
  if (each && self.size.is_number())
    repeats = e.integers(Ints(static_cast<std::size_t>(*self.size.number()), each->front()));
  else if (given.number() == 1 && self.size.number() != 1)
    repeats = e.node("Tile", {repeats, self.count});
  else if (!given.is_number() && self.size.number() != 1) {
    const Shape from{given}, to{self.size};
    repeats = expand_to(e, repeats, &from, &to, [&] { return self.count; });
  }
  e.give(e.build.gather(self.value, repeated_positions(e, repeats), self.axis));
}

void repeat_interleave(Emission& e) {
  if (!e.call.has("self")) return e.give(repeated_positions(e, e.tensor("repeats", DType::i64)));
  if (e.call.tensor("repeats"))
    repeat_by_tensor(e);
  else
    repeat_each(e);
}

// ---- Order reversed

Value in_reverse(Emission& e, const Value& value, const Ints& axes) {
  if (axes.empty()) return value;
  if (e.at_least(10))
    return e.build.slice(value, Ints(axes.size(), -1), Ints(axes.size(), std::numeric_limits<std::int64_t>::min()), axes,
                         Ints(axes.size(), -1));
  Value made = value;
  for (const std::int64_t axis : axes) {
    Ints positions;
    for (std::int64_t at = e.known_size("self", axis); at-- > 0;) positions.push_back(at);
    made = e.build.gather(made, e.integers(positions), axis);
  }
  return made;
}

void flip(Emission& e) { e.give(in_reverse(e, e.tensor("self"), e.ints("dims").empty() ? Ints{} : e.axes("dims"))); }
void fliplr(Emission& e) { e.give(in_reverse(e, e.tensor("self"), {1})); }
void flipud(Emission& e) { e.give(in_reverse(e, e.tensor("self"), {0})); }

void rot90(Emission& e) {
  const Ints dims = e.ints("dims");
  const std::int64_t rank = e.rank("self"), a = e.wrap(dims.at(0), rank), b = e.wrap(dims.at(1), rank),
                     turns = ((e.integer("k") % 4) + 4) % 4;
  const Value self = e.tensor("self");
  if (turns == 0) return e.give(self);
  if (turns == 2) return e.give(in_reverse(e, self, {std::min(a, b), std::max(a, b)}));
  Ints permutation;
  for (std::int64_t i = 0; i < rank; ++i) permutation.push_back(i == a ? b : i == b ? a : i);
  e.give(e.build.transpose(in_reverse(e, self, {turns == 1 ? b : a}), permutation));
}

// ---- Rolled

// Before opset 10, where Slice takes no computed bounds: `first` may be below 0 and beyond the size.
Value rolled_places(Emission& e, const Value& value, std::int64_t axis, const Value& first, const Value& count) {
  if (!e.at_least(9))
    throw Refusal{"a shift or a size that is known only when the model runs needs ConstantOfShape, which came with opset 9",
                  "use opset 9"};
  const Value none = e.cast(e.node("Equal", {count, e.integers({0})}), DType::i64), some = sum(e, count, none);
  const auto rest = [&](const Value& place) { return difference(e, place, e.node("Mul", {e.node("Div", {place, some}), some})); };
  return e.build.gather(value, rest(sum(e, places_of(e, count), sum(e, rest(first), some))), axis);
}

// Elements shifted out at the end come back in front. `size` is a number or computed.
Value rolled(Emission& e, const Value& value, std::int64_t axis, const Dim& size, std::int64_t shift, const Value& count) {
  if (const auto known = size.number()) {
    const std::int64_t first = *known == 0 ? 0 : ((-shift % *known) + *known) % *known;
    if (first == 0) return value;
    return e.build.concat({e.build.slice(value, {first}, {to_end}, {axis}), e.build.slice(value, {0}, {first}, {axis})}, axis);
  }
  if (shift == 0) return value;
  Value first = e.integers({-shift});
  if (!provably_at_least(size, shift < 0 ? -shift : shift)) {
    if (!e.at_least(10)) return rolled_places(e, value, axis, first, count);
    const Value none = e.cast(e.node("Equal", {count, e.integers({0})}), DType::i64);  // ONNX Runtime fails to divide by 0
    first = e.node("Mod", {first, sum(e, count, none)});
  }
  return e.build.concat({sliced(e, value, axis, first, e.integers({to_end})), sliced(e, value, axis, e.integers({0}), first)},
                        axis);
}

// Rolls by a number of places that is known when the model runs.
Value rolled(Emission& e, const Value& value, std::int64_t axis, const Value& shift, const Value& count) {
  if (!e.at_least(10)) return rolled_places(e, value, axis, difference(e, e.integers({0}), shift), count);
  const Value some = e.node("Max", {e.cast(count, DType::f64), e.scalar(DType::f64, 1.0)});  // Max of i64 came later
  const Value first = e.node("Mod", {difference(e, e.integers({0}), shift), e.cast(some, DType::i64)});
  return e.build.concat({sliced(e, value, axis, first, e.integers({std::numeric_limits<std::int64_t>::max()})),
                         sliced(e, value, axis, e.integers({0}), first)},
                        axis);
}

void roll_open(Emission& e) {
  const Ints dims = e.ints("dims");
  const Value shifts = e.int_vector("shifts");
  if (dims.empty()) {
    const Value flat = e.build.reshape(e.tensor("self"), {-1});
    const Value made = rolled(e, flat, 0, shifts, sizes_of(e, flat));
    return e.give(reshape_to(e, made, nullptr, &e.shape("self"), [&] { return e.shape_of("self"); }));
  }
  Value made = e.tensor("self");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t axis = e.wrap(dims[i], e.rank("self"));
    made = rolled(e, made, axis, e.build.gather(shifts, e.integers({static_cast<std::int64_t>(i)}), 0), e.size_of("self", axis));
  }
  e.give(made);
}

void roll(Emission& e) {
  if (!e.call.ints("shifts") && e.rank("self") > 0) return roll_open(e);
  const Ints shifts = e.ints("shifts");
  const Value self = e.tensor("self");
  const Shape& shape = e.shape("self");
  const Ints dims = e.call.fact("dims").list() || e.call.ints("dims") ? e.ints("dims") : Ints{};
  if (shifts.size() != std::max<std::size_t>(1, dims.size()))
    throw symbolic::Impossible{"there must be a shift for each of the dimensions, or one shift"};
  if (dims.empty()) {
    const Value flat = e.build.reshape(self, {-1});
    const Value made = rolled(e, flat, 0, symbolic::product(shape), shifts.at(0), sizes_of(e, flat));
    return e.give(reshape_to(e, made, nullptr, &shape, [&] { return e.shape_of("self"); }));
  }
  Value made = self;
  for (std::size_t i = 0; i < dims.size() && !shape.empty(); ++i) {
    const std::int64_t axis = e.wrap(dims[i], e.rank("self"));
    made = rolled(e, made, axis, shape[static_cast<std::size_t>(axis)], shifts.at(i), e.size_of("self", axis));
  }
  e.give(made);
}

// ---- Pixels

// Sizes in front of channels, height and width stay. Where a later one may be 0, which Reshape takes for "stays", all are
// numbers.
struct Pixels {
  Values front;
  bool may_be_empty;
};

Pixels pixels_of(Emission& e, std::int64_t count) {
  const Shape& shape = e.shape("self");
  const bool empty = std::any_of(shape.begin() + count, shape.end(), [](const Dim& dim) { return may_be_zero(dim); });
  Pixels made{{}, empty};
  for (std::int64_t i = 0; i < count; ++i) made.front.push_back(empty ? e.size_of("self", i) : e.integers({0}));
  return made;
}

Value reshape_pixels(Emission& e, const Value& value, const Pixels& pixels, std::initializer_list<Value> behind) {
  Values sizes = pixels.front;
  sizes.insert(sizes.end(), behind);
  if (!pixels.may_be_empty) return reshape_parts(e, value, sizes);
  return reshape_to(e, value, nullptr, nullptr, [&] { return joined(e, sizes); });
}

Ints leading(std::int64_t count, std::initializer_list<std::int64_t> behind) {
  Ints order;
  for (std::int64_t i = 0; i < count; ++i) order.push_back(i);
  for (const std::int64_t axis : behind) order.push_back(count + axis);
  return order;
}

void pixel_shuffle(Emission& e) {
  const Value self = e.tensor("self");
  const std::int64_t factor = e.integer("upscale_factor"), front = e.rank("self") - 3;
  if (e.variant("operator")) return e.give(e.node("DepthToSpace", {self}, {{"blocksize", factor}, {"mode", "CRD"}}));
  const Value r = e.integers({factor}), channels = quotient(e, e.size_of("self", front), e.integers({factor * factor}));
  const Value height = e.size_of("self", front + 1), width = e.size_of("self", front + 2);
  const Pixels pixels = pixels_of(e, front);
  const Value parts = reshape_pixels(e, self, pixels, {channels, r, r, height, width});
  const Value moved = e.build.transpose(parts, leading(front, {0, 3, 1, 4, 2}));
  e.give(reshape_pixels(e, moved, pixels, {channels, product(e, height, r), product(e, width, r)}));
}

void pixel_unshuffle(Emission& e) {
  const Value self = e.tensor("self");
  if (has_no_elements(e.shape("self"))) return e.give(self);
  const std::int64_t factor = e.integer("downscale_factor"), front = e.rank("self") - 3;
  const Value r = e.integers({factor}), channels = e.size_of("self", front);
  const Value height = quotient(e, e.size_of("self", front + 1), r), width = quotient(e, e.size_of("self", front + 2), r);
  const Pixels pixels = pixels_of(e, front);
  const Value parts = reshape_pixels(e, self, pixels, {channels, height, r, width, r});
  const Value moved = e.build.transpose(parts, leading(front, {0, 2, 4, 1, 3}));
  e.give(reshape_pixels(e, moved, pixels, {product(e, channels, e.integers({factor * factor})), height, width}));
}

// The channels as groups, and the groups' members side by side. Sizes after the channels are one meanwhile.
void channel_shuffle(Emission& e) {
  const std::int64_t groups = e.integer("groups");
  const Value self = e.tensor("self");
  const Shape& shape = e.shape("self");
  const Shape parts{shape[0], Dim(groups), floor_div(shape[1], Dim(groups)),
                    std::accumulate(shape.begin() + 2, shape.end(), Dim(1), std::multiplies<>())};
  const Value parted = reshape_to(e, self, &shape, &parts, [&] {
    Values pixels;
    for (std::int64_t axis = 2; axis < e.rank("self"); ++axis) pixels.push_back(e.size_of("self", axis));
    const Value members = quotient(e, e.size_of("self", 1), e.integers({groups}));
    return joined(e, {e.size_of("self", 0), e.integers({groups}), members, product_of(e, pixels)});
  });
  const Value swapped = e.build.transpose(parted, {0, 2, 1, 3});
  const Shape exchanged{parts[0], parts[2], parts[1], parts[3]};
  e.give(reshape_to(e, swapped, &exchanged, &shape, [&] { return e.shape_of("self"); }));
}

// ---- Choices of r elements

// For a size that is known only at run time: the places whose positions rise, in order.
Value open_combinations(Emission& e) {
  constexpr std::int64_t most_chosen = 8;
  const std::int64_t r = e.integer("r");
  if (r == 1) return e.build.unsqueeze(e.tensor("self"), {1});
  if (r < 1 || r > most_chosen)
    throw Refusal{"r must be 1 to " + std::to_string(most_chosen) + " if the tensor's size isn't fixed"};
  const Value places = counting(e, e.size_of("self", 0));
  const auto along = [&](std::int64_t dim) {
    Ints others;
    for (std::int64_t i = 0; i < r; ++i)
      if (i != dim) others.push_back(i);
    return e.build.unsqueeze(places, others);
  };
  Value rising;
  for (std::int64_t dim = 0; dim + 1 < r; ++dim) {
    const Value next = e.boolean("with_replacement") ? sum(e, along(dim + 1), e.integers({1})) : along(dim + 1);
    const Value rises = e.node("Less", {along(dim), next});
    rising = rising ? e.node("And", {rising, rises}) : rises;
  }
  return e.build.gather(e.tensor("self"), e.build.transpose(e.node("NonZero", {rising}), {1, 0}), 0);
}

void combinations(Emission& e) {
  if (e.at_least(9) && !e.size("self", 0)) return e.give(open_combinations(e));
  const std::int64_t n = e.known_size("self", 0), r = e.integer("r");
  const bool again = e.boolean("with_replacement");
  Ints positions, row;
  std::int64_t rows = 0;
  const auto choose = [&](auto&& self, std::int64_t from) -> void {
    if (static_cast<std::int64_t>(row.size()) == r) {
      positions.insert(positions.end(), row.begin(), row.end());
      ++rows;
      return;
    }
    for (std::int64_t at = from; at < n; ++at) {
      row.push_back(at);
      self(self, again ? at : at + 1);
      row.pop_back();
    }
  };
  choose(choose, 0);
  e.give(e.build.gather(e.tensor("self"), e.build.reshape(e.integers(positions), {rows, r}), 0));
}

}  // namespace

void register_rearrange(Registry& registry) {
  registry.handler("aten::repeat", repeat_dims);
  registry.handler("aten::tile", tile);
  registry.handler("aten::repeat_interleave", repeat_interleave);
  registry.handler("aten::flip", flip);
  registry.handler("aten::fliplr", fliplr);
  registry.handler("aten::flipud", flipud);
  registry.handler("aten::rot90", rot90);
  registry.handler("aten::roll", roll);
  registry.handler("aten::pixel_shuffle", pixel_shuffle, {"operator"});
  registry.handler("aten::pixel_unshuffle", pixel_unshuffle);
  registry.handler("aten::channel_shuffle", channel_shuffle);
  registry.handler("aten::combinations", combinations);
}

}  // namespace compatcheck::handlers
