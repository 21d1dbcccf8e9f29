#include "handlers/sizes.h"

#include <algorithm>
#include <numeric>

#include "symbolic/emptiness.h"

namespace compatcheck::handlers {
namespace {

const Shape* shape_in(const symbolic::Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->shape ? &*tensor->shape : nullptr;
}

// Computes with constants of at most one dimension, of equal length or one of them of one element.
template <class Compute>
std::optional<Value> folded(Emission& e, const Value& a, const Value& b, Compute&& compute) {
  const auto *x = e.constant_of(a), *y = e.constant_of(b);
  if (!x || !y || x->view || y->view || x->dims.size() > 1 || y->dims.size() > 1) return std::nullopt;
  const auto left = onnx::as_ints(*x), right = onnx::as_ints(*y);
  if (!left || !right || (left->size() != right->size() && left->size() != 1 && right->size() != 1)) return std::nullopt;
  const std::size_t count = left->size() == 1 ? right->size() : left->size();
  Ints made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(compute((*left)[left->size() == 1 ? 0 : i], (*right)[right->size() == 1 ? 0 : i]));
  const bool vector = !x->dims.empty() || !y->dims.empty();
  return e.build.constant(onnx::make_tensor(DType::i64, vector ? Ints{static_cast<std::int64_t>(count)} : Ints{}, made));
}

// Wrapped where they don't fit, as the nodes in their place would.
constexpr auto wrapped_sum = [](std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  static_cast<void>(__builtin_add_overflow(a, b, &made));
  return made;
};
constexpr auto wrapped_difference = [](std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  static_cast<void>(__builtin_sub_overflow(a, b, &made));
  return made;
};
constexpr auto wrapped_product = [](std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  static_cast<void>(__builtin_mul_overflow(a, b, &made));
  return made;
};

bool is_constant(Emission& e, const Value& value, std::int64_t number) {
  const auto known = e.build.ints_of(value);
  return known && known->size() == 1 && known->front() == number;
}

}  // namespace

const Shape* known_shape(const Emission& e, std::string_view tensor) { return shape_in(e.call.fact(tensor)); }
const Shape* known_output_shape(const Emission& e, std::size_t output) {
  return shape_in(e.call.facts().of(e.call.node().output(output)));
}

bool all_zero(const Ints& ints) {
  return std::ranges::all_of(ints, [](std::int64_t n) { return n == 0; });
}

std::optional<Ints> numbers_of(const Shape& shape) {
  Ints numbers;
  for (const Dim& dim : shape) {
    if (!dim.is_number()) return std::nullopt;
    numbers.push_back(*dim.number());
  }
  return numbers;
}

bool has_no_elements(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Dim& dim) { return dim.number() == 0; });
}

bool may_be_zero(const Dim& dim) { return !provably_at_least_if_empty(dim, 1); }

Value int_value(Emission& e, std::string_view argument) {
  if (const auto known = e.call.integer(argument)) return e.integers({*known});
  return e.as_vector(e.operand(argument), argument);
}

Value int_scalar(Emission& e, std::string_view argument) {
  if (const auto known = e.call.integer(argument)) return e.build.integer(*known);
  const Value value = e.cast(e.tensor(argument), DType::i64);
  const auto* shape = known_shape(e, argument);
  return shape && !shape->empty() ? e.build.reshape(value, {}) : value;  // tracing passes tensors of one element as ints
}

// ---- Arithmetic

Value sum(Emission& e, const Value& a, const Value& b) {
  if (auto known = folded(e, a, b, wrapped_sum)) return *known;
  if (is_constant(e, b, 0)) return a;
  return is_constant(e, a, 0) ? b : e.node("Add", {a, b});
}

Value difference(Emission& e, const Value& a, const Value& b) {
  if (auto known = folded(e, a, b, wrapped_difference)) return *known;
  return is_constant(e, b, 0) ? a : e.node("Sub", {a, b});
}

Value product(Emission& e, const Value& a, const Value& b) {
  if (auto known = folded(e, a, b, wrapped_product)) return *known;
  if (is_constant(e, b, 1)) return a;
  return is_constant(e, a, 1) ? b : e.node("Mul", {a, b});
}

Value quotient(Emission& e, const Value& a, const Value& b) {
  if (auto known = folded(e, a, b, [](std::int64_t x, std::int64_t y) { return y == 0 ? 0 : x / y; })) return *known;
  return is_constant(e, b, 1) ? a : e.node("Div", {a, b});
}

Value product_of(Emission& e, const Values& factors) {
  Value made = e.integers({1});
  for (const Value& factor : factors) made = product(e, made, factor);
  return made;
}

Value sizes_of(Emission& e, const Value& tensor) {
  if (const auto* data = e.constant_of(tensor)) return e.integers(data->dims);
  return e.node("Shape", {tensor});
}

Value size_at(Emission& e, const Value& tensor, std::int64_t axis) {
  return e.build.gather(sizes_of(e, tensor), e.integers({axis}), 0);
}

Value counting(Emission& e, const Value& count) {
  if (const auto known = e.build.ints_of(count); known && known->front() <= 4096) {
    Ints all(static_cast<std::size_t>(std::max<std::int64_t>(known->front(), 0)));
    std::iota(all.begin(), all.end(), 0);
    return e.integers(all);
  }
  if (e.at_least(11)) return e.node("Range", {e.build.integer(0), e.build.squeeze(count, {0}), e.build.integer(1)});
  const Value ones =
      e.node("ConstantOfShape", {count}, {{"value", onnx::make_tensor(DType::boolean, {1}, Ints{1})}}, DType::boolean);
  return e.build.reshape(e.node("NonZero", {ones}), {-1});
}

Value places_of(Emission& e, const Value& size) {
  const auto marked = e.build.plumbing();
  return counting(e, size);
}

// ---- Positions

Value wrapped(Emission& e, const Value& positions, const Value& size) {
  if (const auto known = e.build.ints_of(positions)) {
    if (std::ranges::all_of(*known, [](std::int64_t at) { return at >= 0; })) return positions;
    if (auto made = folded(e, positions, size, [](std::int64_t at, std::int64_t n) { return at < 0 ? at + n : at; }))
      return *made;
  }
  const Value from_end = sum(e, positions, size);
  if (e.at_least(9)) return e.node("Where", {e.node("Less", {positions, e.build.integer(0)}), from_end, positions});
  // (p + n) mod n, of two that aren't negative
  return difference(e, from_end, product(e, quotient(e, from_end, size), size));
}

Value wrapped_if_needed(Emission& e, const Value& positions, const Value& size) {
  return e.at_least(11) ? positions : wrapped(e, positions, size);
}

// ---- Shapes

namespace {

// Constants tell Reshape everything: at most one size is neither a number nor stays where it is. Beside a size that is 0, Reshape
// can't find out another one.
bool needs_no_sizes(const Shape* from, const Shape& to) {
  std::size_t open = 0;
  bool empty = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].number() == 0) return false;
    if (to[i].is_number()) continue;
    if (from && i < from->size() && provably_equal((*from)[i], to[i]))
      empty |= may_be_zero(to[i]);
    else
      ++open;
  }
  return open <= 1 && !(open == 1 && empty);
}

}  // namespace

Value reshape_to(Emission& e, const Value& value, const Shape* from, const Shape* to, const std::function<Value()>& sizes) {
  if (to && needs_no_sizes(from, *to)) {
    if (from) return e.reshape(value, *from, *to);
    return to->empty() ? e.build.reshape(value, {}) : e.reshape(value, {}, *to);
  }
  const Value dims = sizes();
  const auto known = e.build.ints_of(dims);
  if (known && std::ranges::find(*known, 0) == known->end()) return e.build.reshape(value, *known);
  if (to && std::ranges::none_of(*to, [](const Dim& dim) { return may_be_zero(dim); })) return e.build.reshape_by(value, dims);
  if (e.at_least(14)) return e.build.reshape_by(value, dims, {{"allowzero", 1}});
  // Reshape takes 0 for "as it was". -1 in its place is 0 again where it is the only one, and refused where it isn't.
  const Value freed = [&] {
    const auto marked = e.build.plumbing();
    return e.node("Sub", {dims, e.cast(e.node("Equal", {dims, e.integers({0})}), DType::i64)});
  }();
  return e.build.reshape_by(value, freed);
}

Value joined(Emission& e, const Values& parts) {
  if (parts.empty()) return e.integers({});
  Values merged;  // neighbouring constants make one part
  for (const Value& part : parts) {
    if (!merged.empty() && e.constant_of(merged.back()) && e.constant_of(part))
      merged.back() = e.build.concat({merged.back(), part}, 0);
    else
      merged.push_back(part);
  }
  return e.build.concat(merged, 0);
}

Value reshape_parts(Emission& e, const Value& value, const Values& parts) {
  const Value dims = joined(e, parts);
  if (const auto known = e.build.ints_of(dims)) return e.build.reshape(value, *known);
  return e.build.reshape_by(value, dims);
}

namespace {

// The repeats of each dimension, for Tile. Whether a size is 1 must be known while converting.
Value repeats(Emission& e, const Value& value, const Shape* from, const Shape* to, const std::function<Value()>& sizes,
              Value& widened) {
  const Refusal unsettled{"which dimensions are stretched isn't known before opset 8",
                          "use opset 8, or name the sizes with --input"};
  if (!from || !to || from->size() > to->size()) throw unsettled;
  const std::size_t lead = to->size() - from->size();
  Ints axes(lead);
  std::iota(axes.begin(), axes.end(), 0);
  widened = e.build.unsqueeze(value, axes);
  Value dims;
  Values parts;
  for (std::size_t i = 0; i < to->size(); ++i) {
    const bool stretched = i < lead || (*from)[i - lead].number() == 1;
    if (!stretched && !(*from)[i - lead].is_number() && !provably_equal((*from)[i - lead], (*to)[i])) throw unsettled;
    if (!stretched)
      parts.push_back(e.integers({1}));
    else if (const auto known = (*to)[i].number())
      parts.push_back(e.integers({*known}));
    else
      parts.push_back(e.build.gather(dims ? dims : dims = sizes(), e.integers({static_cast<std::int64_t>(i)}), 0));
  }
  return joined(e, parts);
}

}  // namespace

Value expand_to(Emission& e, const Value& value, const Shape* from, const Shape* to, const std::function<Value()>& sizes) {
  const auto equal = [](const Dim& a, const Dim& b) { return provably_equal(a, b); };
  if (from && to && std::ranges::equal(*from, *to, equal)) return value;
  if (!e.at_least(8)) {
    Value widened;
    const Value counts = repeats(e, value, from, to, sizes, widened);
    return e.node("Tile", {widened, counts});
  }
  const auto known = to ? numbers_of(*to) : std::nullopt;
  return e.node("Expand", {value, known ? e.integers(*known) : sizes()});
}

Value sliced(Emission& e, const Value& value, std::int64_t axis, const Value& start, const Value& end) {
  return e.node("Slice", {value}, {{"starts", start}, {"ends", end}, {"axes", Ints{axis}}});
}

Value sliced(Emission& e, const Value& value, std::int64_t axis, const Value& start, const Value& end, const Value& step) {
  if (is_constant(e, step, 1)) return sliced(e, value, axis, start, end);
  return e.node("Slice", {value}, {{"starts", start}, {"ends", end}, {"axes", Ints{axis}}, {"steps", step}});
}

Ints to_front(std::int64_t rank, const Ints& axes) {
  Ints permutation = axes;
  for (std::int64_t i = 0; i < rank; ++i)
    if (std::ranges::find(axes, i) == axes.end()) permutation.push_back(i);
  return permutation;
}

Ints inverse(const Ints& permutation) {
  Ints back(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    back[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return back;
}

Value filled(Emission& e, const Value& sizes, const Value& number) {
  if (const auto known = e.build.ints_of(sizes); known && known->empty()) return e.build.reshape(number, {});
  if (const auto* data = e.constant_of(number); data && !data->view && e.at_least(9)) {
    onnx::TensorData one = *data;
    one.dims = {1};
    return e.node("ConstantOfShape", {sizes}, {{"value", std::move(one)}}, number.dtype);
  }
  if (e.at_least(8)) return e.node("Expand", {number, sizes});
  const Shape* shape = known_output_shape(e);
  if (!shape) throw Refusal{"a rank that is known only when the model runs needs Expand, which came with opset 8", "use opset 8"};
  return e.node("Tile", {e.build.reshape(number, Ints(shape->size(), 1)), sizes});
}

}  // namespace compatcheck::handlers
