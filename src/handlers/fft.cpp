// Fourier transforms of several dimensions, and related operators.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/fourier.h"
#include "handlers/padding.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Half of a dimension to the other side

template <bool inverse>
void shift(Emission& e) {
  Value x = e.tensor("self");
  if (e.rank("self") == 0) return e.give(x);
  for (const std::int64_t axis : e.axes("dim")) {
    const auto known = e.size("self", axis);
    if (known && *known < 2) continue;
    // The last half goes first: of an odd number the smaller one, for the inverse the larger.
    Value from;
    if (known)
      from = e.integers({inverse ? *known / 2 : *known - *known / 2});
    else {
      const Value size = e.size_of("self", axis), half = e.node("Div", {size, e.integers({2})});
      from = inverse ? half : e.node("Sub", {size, half});
    }
    const Arguments last{{"starts", from}, {"ends", e.integers({to_end})}, {"axes", Ints{axis}}};
    const Arguments first{{"starts", e.integers({0})}, {"ends", from}, {"axes", Ints{axis}}};
    x = e.build.concat({e.node("Slice", {x}, last), e.node("Slice", {x}, first)}, axis);
  }
  e.give(x);
}

// The number of points is known when the model runs. Places from the middle on count from the end.
void computed_frequencies(Emission& e, bool real) {
  const Value n = int_value(e, "n"), two = e.integers({2});
  Value places = places_of(e, real ? sum(e, quotient(e, n, two), e.integers({1})) : n);
  if (!real) places = where(e, less(e, places, quotient(e, sum(e, n, e.integers({1})), two)), places, subtract(e, places, n));
  const DType dtype = e.output_dtype();
  const Value step = one_over(e, multiply(e, e.cast(n, DType::f64), e.number_value("d", DType::f64)));
  e.give(multiply(e, e.cast(places, dtype), e.cast(step, dtype)));
}

void frequencies(Emission& e) {
  const bool real = e.call.op() == "aten::fft_rfftfreq";
  if (!e.call.integer("n") || !e.call.number("d")) return computed_frequencies(e, real);
  const std::int64_t n = e.integer("n"), middle = n / 2;
  const double step = 1 / (static_cast<double>(n) * e.number("d", 1));
  const auto points = static_cast<double>(n), half = static_cast<double>(middle);
  const auto made =
      ir::listed<double>(real ? half + 1 : points, [&](double i) { return (real || i < points - half ? i : i - points) * step; });
  const auto count = static_cast<std::int64_t>(made.size());
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {count}, made)));
}

// ---- The call's dimensions

// A dimension that is transformed, and how many points it has then.
struct TransformedDim {
  std::int64_t axis = 0;
  Points points;
  bool resized = false;  // its size may have changed
};

bool is_inner(const Emission& e) { return e.call.op().starts_with("aten::_fft"); }  // no sizes, no names of norms

// `real`: the last one has half as many values, and more points.
Points points_of(Emission& e, std::int64_t axis, bool from_half) {
  if (const auto known = e.size("self", axis)) return {from_half ? 2 * (*known - 1) : *known, {}};
  const Value size = e.size_of("self", axis);
  if (!from_half) return {std::nullopt, size};
  return {std::nullopt, e.node("Mul", {e.node("Sub", {size, e.integers({1})}), e.integers({2})})};
}

Points points_of(Emission& e, const Operand& number) {
  const Number* given = number.number();
  if (const auto* known = given ? std::get_if<std::int64_t>(&given->value) : nullptr) return {*known, {}};
  return {std::nullopt, e.as_vector(number, "n")};
}

// The axes in `dim`, else the last ones for which sizes are given, else all.
Ints transform_axes(Emission& e, std::size_t sizes) {
  const std::int64_t rank = e.rank("self");
  Ints made;
  if (e.given("dim")) {
    if (e.call.fact("dim").number())
      made.push_back(e.integer("dim"));
    else
      made = e.ints("dim");
    for (std::int64_t& dim : made) dim = e.wrap(dim, rank);
  } else {
    const std::int64_t count = sizes ? static_cast<std::int64_t>(sizes) : rank;
    for (std::int64_t axis = rank - count; axis < rank; ++axis) made.push_back(axis);
  }
  if (rank == 0 || made.empty() || made.front() < 0) throw Refusal{"a Fourier transform needs a dimension"};
  return made;
}

// Whether the dimension has the given number of points, or, for the result of a real transform, half as many.
bool has_size(const Emission& e, const TransformedDim& dim, bool from_half) {
  const symbolic::Dim& own = e.shape("self")[static_cast<std::size_t>(dim.axis)];
  const symbolic::Dim& given = e.output_shape()[static_cast<std::size_t>(dim.axis)];
  return provably_equal(own, from_half ? floor_div(given, 2) + Dim(1) : given);
}

std::vector<TransformedDim> transformed_dims(Emission& e, bool from_half) {
  std::vector<Operand> sizes;
  for (const char* argument : {"n", "s", "last_dim_size"})
    if (e.given(argument)) {
      const Operand& given = e.operand(argument);
      if (const List* list = given.list())
        sizes.assign(list->items.begin(), list->items.end());
      else
        sizes.push_back(given);
    }
  std::vector<TransformedDim> made;
  const bool of_last = is_inner(e);  // the only size is that of the last dimension
  const Ints axes = transform_axes(e, of_last ? 0 : sizes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool last = i + 1 == axes.size();
    const std::size_t place = of_last ? 0 : i;
    const bool sized = place < sizes.size() && (!of_last || last);
    TransformedDim each{axes[i], sized ? points_of(e, sizes[place]) : Points{-1, {}}, sized};
    if (each.points.known == -1) each = {axes[i], points_of(e, axes[i], last && from_half), false};
    if (each.points.known && *each.points.known < 1) throw Refusal{"a Fourier transform of no points"};
    if (each.resized && has_size(e, each, last && from_half)) each.resized = false;
    made.push_back(each);
  }
  return made;
}

Norm norm_argument(Emission& e, Direction direction) {
  if (is_inner(e)) return static_cast<Norm>(e.integer("normalization"));
  const std::string norm = e.given("norm") ? e.string("norm") : "backward";
  if (norm == "ortho") return Norm::by_root;
  return (norm == "forward") == (direction == Direction::forward) ? Norm::by_points : Norm::none;
}

// Zeros behind, or without the last ones.
Value resized(Emission& e, const Value& value, std::int64_t axis, const Points& to) {
  const auto size = e.size("self", axis);
  if (!value || (size && size == to.known)) return value;
  const auto rank = static_cast<std::size_t>(e.rank("self"));
  if (!to.known) {
    const auto marked = e.build.plumbing();  // would be a pad if its size were known
    std::vector<Value> sizes;
    for (std::int64_t i = 0; i < e.rank("self"); ++i) sizes.push_back(i == axis ? to.computed : size_at(e, value, i));
    const Value zeros = filled(e, e.build.concat(sizes, 0), value.dtype, 0);
    return sliced(e, e.build.concat({value, zeros}, axis), axis, e.integers({0}), to.computed);
  }
  if (size && *size > *to.known) return part(e, value, axis, 0, *to.known);
  Ints none(rank, 0), behind(rank, 0);
  behind[static_cast<std::size_t>(axis)] = size ? *to.known - *size : *to.known;
  const Value made = padded(e, value, nullptr, none, behind, e.scalar(value.dtype, 0));
  return size ? made : part(e, made, axis, 0, *to.known);
}

Complex resized(Emission& e, const Complex& value, const TransformedDim& dim, bool half = false) {
  if (!dim.resized) return value;
  Points to = dim.points;
  if (half) to = half_of(e, to);
  return {resized(e, value.real, dim.axis, to), resized(e, value.imag, dim.axis, to)};
}

// ---- Transforms

DType part_dtype_of_result(const Emission& e) { return symbolic::real_part(e.output_dtype()); }

// A real signal has no imaginary part.
Complex signal_of(Emission& e) {
  if (e.operand("self").complex()) return e.complex("self", part_dtype_of_result(e));
  return {e.tensor("self", part_dtype_of_result(e)), {}};
}

// One or two real points have no imaginary part.
void give_spectrum(Emission& e, Complex made) {
  const auto marked = e.build.plumbing();
  if (!made.imag) made.imag = filled_like(e, made.real, made.real.dtype, 0);
  e.give(made);
}

Transform transform_of(Emission& e, const TransformedDim& dim, Direction direction) {
  return {dim.axis, e.rank("self"), dim.points, direction, norm_argument(e, direction)};
}

Direction direction_of(Emission& e, Direction usual) {
  if (!e.call.has("forward")) return usual;
  return e.boolean("forward") ? Direction::forward : Direction::inverse;
}

template <Direction usual>
void complex_transform(Emission& e) {
  const Direction direction = direction_of(e, usual);
  Complex x = signal_of(e);
  for (const TransformedDim& each : transformed_dims(e, false))
    x = transformed(e, resized(e, x, each), transform_of(e, each, direction));
  give_spectrum(e, x);
}

template <Direction direction>
void real_transform(Emission& e) {
  if (ir::is_complex(e.dtype("self"))) throw Refusal{"PyTorch refuses this call: 'self' must be real"};
  auto all = transformed_dims(e, false);
  const TransformedDim last = all.back();
  all.pop_back();
  const Value x = resized(e, Complex{e.tensor("self", part_dtype_of_result(e)), {}}, last).real;
  const Transform transform = transform_of(e, last, direction);
  const bool whole = e.call.has("onesided") && !e.boolean("onesided");
  Complex made = whole ? transformed(e, {x, {}}, transform) : half_spectrum(e, x, transform);
  for (const TransformedDim& each : all) made = transformed(e, resized(e, made, each), transform_of(e, each, direction));
  give_spectrum(e, made);
}

template <Direction direction>
void transform_to_real(Emission& e) {
  Complex x = signal_of(e);
  auto all = transformed_dims(e, true);
  const TransformedDim last = all.back();
  all.pop_back();
  for (const TransformedDim& each : all) x = transformed(e, resized(e, x, each), transform_of(e, each, direction));
  e.give(from_half_spectrum(e, resized(e, x, last, true), transform_of(e, last, direction)));
}

}  // namespace

void register_fft(Registry& registry) {
  registry.handler("aten::fft_fftshift", shift<false>);
  registry.handler("aten::fft_ifftshift", shift<true>);
  registry.handler("aten::fft_fftfreq", frequencies);
  constexpr auto forward = Direction::forward, inverse = Direction::inverse;
  for (const char* op : {"aten::fft_fft", "aten::fft_fft2", "aten::fft_fftn", "aten::_fft_c2c"})
    registry.complex_handler(op, complex_transform<forward>);
  for (const char* op : {"aten::fft_ifft", "aten::fft_ifft2", "aten::fft_ifftn"})
    registry.complex_handler(op, complex_transform<inverse>);
  for (const char* op : {"aten::fft_rfft", "aten::fft_rfft2", "aten::fft_rfftn", "aten::_fft_r2c"})
    registry.complex_handler(op, real_transform<forward>);
  for (const char* op : {"aten::fft_ihfft", "aten::fft_ihfft2", "aten::fft_ihfftn"})
    registry.complex_handler(op, real_transform<inverse>);
  for (const char* op : {"aten::fft_irfft", "aten::fft_irfft2", "aten::fft_irfftn", "aten::_fft_c2r"}) {
    registry.complex_handler(op, transform_to_real<inverse>);
    registry.handler(op, transform_to_real<inverse>);
  }
  for (const char* op : {"aten::fft_hfft", "aten::fft_hfft2", "aten::fft_hfftn"}) {
    registry.complex_handler(op, transform_to_real<forward>);
    registry.handler(op, transform_to_real<forward>);
  }
}

}  // namespace compatcheck::handlers
