#include "handlers/padding.h"

#include <algorithm>
#include <map>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// Cuts by the negative widths only.
Value cut_negative(Emission& e, const Value& value, const Ints& before, const Ints& after) {
  Ints starts, ends, axes;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] >= 0 && after[i] >= 0) continue;
    starts.push_back(before[i] < 0 ? -std::max(before[i], -to_end) : 0);  // the least number has no opposite
    ends.push_back(after[i] < 0 ? after[i] : to_end);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes.empty() ? value : e.build.slice(value, starts, ends, axes);
}

Ints not_negative(Ints pads) {
  for (std::int64_t& pad : pads) pad = std::max<std::int64_t>(pad, 0);
  return pads;
}

// Pad takes whole numbers and bool from opset 11 and 13 on; blocks of the number serve everywhere.
Value joined_blocks(Emission& e, Value value, const Shape* shape, const Ints& before, const Ints& after, const Value& fill) {
  const auto numbers = shape ? numbers_of(*shape) : std::nullopt;
  const auto* number = e.constant_of(fill);
  if (!numbers || !number)
    throw Refusal{"Pad doesn't support " + std::string(ir::name(value.dtype)) + " before opset 11",
                  "use opset 11, or numbers as sizes, such as --input x=f32:1,3,224,224"};
  const onnx::TensorData one = *number;
  Ints sizes = *numbers;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto block = [&](std::int64_t count) {
      onnx::TensorData data = one;
      data.dims = sizes;
      data.dims[i] = count;
      for (std::int64_t k = Emission::few(data.elements()); k > 1; --k)
        data.bytes.insert(data.bytes.end(), one.bytes.begin(), one.bytes.end());
      return e.build.constant(std::move(data));
    };
    Values parts;
    if (before[i] > 0) parts.push_back(block(before[i]));
    parts.push_back(value);
    if (after[i] > 0) parts.push_back(block(after[i]));
    value = e.build.concat(parts, static_cast<std::int64_t>(i));
    sizes[i] += std::max<std::int64_t>(before[i], 0) + std::max<std::int64_t>(after[i], 0);
  }
  return value;
}

Ints pads_of(const Ints& before, const Ints& after) {
  Ints pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  return pads;
}

}  // namespace

Value padded(Emission& e, const Value& value, const Shape* shape, const Ints& before, const Ints& after, const Value& fill) {
  const Ints pads = pads_of(not_negative(before), not_negative(after));
  if (all_zero(pads)) return cut_negative(e, value, before, after);
  if (!ir::is_floating(value.dtype) && !e.at_least(11))
    return cut_negative(e, joined_blocks(e, value, shape, not_negative(before), not_negative(after), fill), before, after);
  return cut_negative(e, e.node("Pad", {value}, {{"pads", pads}, {"value", fill}}), before, after);
}

namespace {

// ---- The call's pads: (before, after) pairs, the last dimension first

std::string_view pads_argument(const Emission& e) { return e.call.has("pad") ? "pad" : "padding"; }

struct Pads {
  Ints before, after;
};

std::optional<Pads> known_pads(Emission& e) {
  if (!e.call.ints(pads_argument(e))) return std::nullopt;
  const Ints given = e.ints(pads_argument(e));
  const auto rank = static_cast<std::size_t>(e.rank("self"));
  if (given.size() % 2) throw Refusal{"the number of pad widths must be even"};
  if (given.size() / 2 > rank) throw Refusal{"there must be no more than two pad widths for each dimension"};
  Pads pads{Ints(rank, 0), Ints(rank, 0)};
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    pads.before[rank - 1 - i] = given[2 * i];
    pads.after[rank - 1 - i] = given[2 * i + 1];
  }
  return pads;
}

// All before, then all after, from the first dimension to the last.
Value pads_value(Emission& e) {
  const auto dims = e.call.dims(pads_argument(e));
  if (!dims) throw Refusal{"how many dimensions are padded is known only when the model runs", "pad by a list of fixed length"};
  const Value given = e.int_vector(pads_argument(e));
  const auto rank = static_cast<std::size_t>(e.rank("self")), padded = dims->size() / 2;
  Values before, after;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t at = rank - 1 - axis;
    const auto part = [&](std::size_t side) {
      return at < padded ? e.build.gather(given, e.integers({static_cast<std::int64_t>(2 * at + side)}), 0) : e.integers({0});
    };
    before.push_back(part(0));
    after.push_back(part(1));
  }
  before.insert(before.end(), after.begin(), after.end());
  return joined(e, before);
}

// ---- What stands in the margin is read from inside

using Place = std::int64_t (*)(std::int64_t at, std::int64_t size);
std::int64_t reflected(std::int64_t at, std::int64_t size) { return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at; }
std::int64_t nearest_place(std::int64_t at, std::int64_t size) { return std::clamp<std::int64_t>(at, 0, size - 1); }
std::int64_t continued(std::int64_t at, std::int64_t size) { return ((at % size) + size) % size; }

const std::map<std::string_view, std::pair<const char*, Place>>& modes() {
  static const std::map<std::string_view, std::pair<const char*, Place>> all = {
      {"reflect", {"reflect", reflected}}, {"replicate", {"edge", nearest_place}}, {"circular", {"wrap", continued}}};
  return all;
}

// Pads by position along each dimension, where Pad doesn't support the dtype.
Value read_inside(Emission& e, Value value, const Pads& pads, Place place) {
  for (std::size_t i = 0; i < pads.before.size(); ++i) {
    if (pads.before[i] == 0 && pads.after[i] == 0) continue;
    const auto axis = static_cast<std::int64_t>(i);
    const std::int64_t size = e.known_size("self", axis);
    if (size < 1) throw Refusal{"a dimension without elements has none to pad with"};
    Ints positions;
    for (std::int64_t at = -pads.before[i]; at < size + pads.after[i]; ++at) positions.push_back(place(at, size));
    value = e.build.gather(value, e.integers(positions), axis);
  }
  return value;
}

// Before opset 19, Pad has no wrap: the ends stand on the other side too.
Value wrapped_around(Emission& e, Value value, const Pads& pads) {
  value = cut_negative(e, value, pads.before, pads.after);
  for (std::size_t i = 0; i < pads.before.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const std::int64_t before = pads.before[i], after = pads.after[i];
    Values parts;
    if (before > 0) parts.push_back(e.build.slice(value, {-before}, {to_end}, {axis}));
    parts.push_back(value);
    if (after > 0) parts.push_back(e.build.slice(value, {0}, {after}, {axis}));
    value = e.build.concat(parts, axis);
  }
  return value;
}

// ---- Widths that are known only when the model runs, by position

Value smaller(Emission& e, const Value& a, const Value& b) { return e.node("Where", {e.node("Less", {a, b}), a, b}); }
Value greater_one(Emission& e, const Value& a, const Value& b) { return e.node("Where", {e.node("Less", {a, b}), b, a}); }

// The ends of what is left after widths below 0 have cut it stand on its other side.
Value continued_places(Emission& e, const Value& places, const Value& size, const Value& before, const Value& after) {
  const Value zero = e.integers({0}), cut = smaller(e, before, zero);
  const Value left = sum(e, sum(e, size, cut), smaller(e, after, zero));
  const Value from_left = e.node("Add", {e.node("Sub", {places, greater_one(e, before, zero)}), left});  // never below 0
  const Value turns = e.node("Mul", {e.node("Div", {from_left, left}), left});
  return difference(e, e.node("Sub", {from_left, turns}), cut);
}

// Appends one more cell, for there may be none to gather.
Value with_cell(Emission& e, const Value& value, std::int64_t axis, const Value& fill) {
  Values sizes;
  for (std::int64_t dim = 0; dim < e.rank("self"); ++dim) sizes.push_back(dim == axis ? e.integers({1}) : size_at(e, value, dim));
  return e.build.concat({value, filled(e, joined(e, sizes), fill)}, axis);
}

// `fill`: absent if the margin is read from inside.
Value by_position(Emission& e, std::string_view mode, const Value& fill) {
  const auto dims = e.call.dims(pads_argument(e));
  if (!dims) throw Refusal{"how many dimensions are padded is known only when the model runs", "pad by a list of fixed length"};
  const Value widths = e.int_vector(pads_argument(e)), zero = e.integers({0});
  Value made = e.tensor("self");
  const std::int64_t rank = e.rank("self");
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(dims->size() / 2); ++i) {
    if (provably_equal(dims->at(static_cast<std::size_t>(2 * i)), 0) &&
        provably_equal(dims->at(static_cast<std::size_t>(2 * i + 1)), 0))
      continue;
    const std::int64_t axis = rank - 1 - i;
    const Value before = e.build.gather(widths, e.integers({2 * i}), 0),
                after = e.build.gather(widths, e.integers({2 * i + 1}), 0);
    const Value size = e.size_of("self", axis), last = difference(e, size, e.integers({1}));
    const Value places = counting(e, sum(e, sum(e, size, before), after));
    const Value at = e.node("Sub", {places, before});
    if (fill) {
      const Value inside = logical_and(e, e.node("Greater", {at, e.integers({-1})}), e.node("Less", {at, size}));
      if (may_be_zero(e.shape("self")[static_cast<std::size_t>(axis)])) made = with_cell(e, made, axis, fill);
      const Value cells = e.build.gather(made, e.node("Where", {inside, at, zero}), axis);
      Ints behind;
      for (std::int64_t dim = 1; dim < rank - axis; ++dim) behind.push_back(dim);
      made = e.node("Where", {behind.empty() ? inside : e.build.unsqueeze(inside, behind), cells, fill});
      continue;
    }
    const Value from_edge = e.node("Abs", {at});
    const Value index = mode == "reflect"     ? smaller(e, from_edge, e.node("Sub", {sum(e, last, last), from_edge}))
                        : mode == "replicate" ? smaller(e, greater_one(e, at, zero), last)
                                              : continued_places(e, places, size, before, after);
    made = e.build.gather(made, index, axis);
  }
  return made;
}

void pad_from_inside(Emission& e, std::string_view mode) {
  const auto& [onnx_mode, place] = modes().at(mode);
  if (e.variant("by_position")) return e.give(by_position(e, mode, {}));
  const Value self = e.tensor("self");
  const auto pads = known_pads(e);
  if (!pads) return e.give(e.node("Pad", {self}, {{"pads", pads_value(e)}, {"mode", onnx_mode}}));
  if (e.variant("joined")) return e.give(wrapped_around(e, self, *pads));
  if (!ir::is_floating(self.dtype) && !e.at_least(11)) return e.give(read_inside(e, self, *pads, place));
  const Ints sides = pads_of(not_negative(pads->before), not_negative(pads->after));
  // Elements that are cut off don't appear on the other side.
  if (mode == "circular" && !all_zero(sides))
    return e.give(e.node("Pad", {cut_negative(e, self, pads->before, pads->after)}, {{"pads", sides}, {"mode", onnx_mode}}));
  const Value made = all_zero(sides) ? self : e.node("Pad", {self}, {{"pads", sides}, {"mode", onnx_mode}});
  e.give(cut_negative(e, made, pads->before, pads->after));
}

void pad_constant(Emission& e) {
  const Value self = e.tensor("self");
  const Value fill = e.given("value") ? e.number_value("value", self.dtype) : e.scalar(self.dtype, 0);
  if (e.variant("by_position")) return e.give(by_position(e, "constant", fill));
  if (const auto pads = known_pads(e)) return e.give(padded(e, self, known_shape(e, "self"), pads->before, pads->after, fill));
  e.give(e.node("Pad", {self}, {{"pads", pads_value(e)}, {"value", fill}}));
}

void pad_by_mode(Emission& e) {
  const std::string mode = e.string("mode");
  if (mode == "constant") return pad_constant(e);
  if (!modes().contains(mode)) throw Refusal{"there is no padding mode " + mode};
  pad_from_inside(e, mode);
}

void reflection_pad(Emission& e) { pad_from_inside(e, "reflect"); }
void replication_pad(Emission& e) { pad_from_inside(e, "replicate"); }

}  // namespace

void register_padding(Registry& registry) {
  registry.handler("aten::pad", pad_by_mode, {"by_position", "joined"});
  registry.handler("aten::constant_pad_nd", pad_constant, {"by_position"});
  registry.handler("aten::reflection_pad1d", reflection_pad, {"by_position"});
  for (const char* name : {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"})
    registry.handler(name, replication_pad, {"by_position"});
}

}  // namespace compatcheck::handlers
