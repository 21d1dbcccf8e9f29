// Interpolation by factors that are known when the model runs.
#include "handlers/elementary.h"
#include "handlers/resize.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {

// As PyTorch computes it from a factor: in double, cut off.
Value places_at(Emission& e, const Job& job, std::size_t dimension) {
  const auto at = static_cast<std::int64_t>(dimension);
  if (!job.sides[dimension].factor) return e.build.gather(job.places, e.integers({at}), 0);
  const Value size = e.cast(size_at(e, job.input, at + 2), DType::f64);
  return e.cast(e.node("Mul", {size, e.build.reshape(job.sides[dimension].factor, {1})}), DType::i64);
}

Value step_at(Emission& e, const Job& job, std::size_t dimension, DType dtype) {
  const Side& side = job.sides[dimension];
  if (side.factor) return e.cast(e.build.reshape(e.node("Reciprocal", {side.factor}), {1}), dtype);
  if (side.scale) return e.build.constant(onnx::make_tensor(dtype, {1}, std::vector<double>{1 / *side.scale}));
  const Value size = size_at(e, job.input, static_cast<std::int64_t>(dimension) + 2);
  return divide(e, e.cast(size, dtype), e.cast(places_at(e, job, dimension), dtype));
}

Value no_region(Emission& e) {
  return e.at_least(13) ? Value{} : e.build.constant(onnx::make_tensor(DType::f32, {0}, std::vector<double>{}));
}

void demand_counting(Emission& e) {
  if (!e.at_least(9))
    throw Refusal{
        "sizes that are known only at run time need cells that the model counts, by ConstantOfShape, which came with opset 9",
        "use opset 9, or numbers as sizes, such as --input x=f32:1,3,224,224"};
}

namespace {

// The cells that are nearest: (place or its middle) · step.
Value nearest_cells(Emission& e, const Job& job, std::size_t dimension, bool small_image) {
  const DType dtype = job.how.in_double && !small_image ? DType::f64 : DType::f32;
  const Value places = places_at(e, job, dimension), size = size_at(e, job.input, static_cast<std::int64_t>(dimension) + 2);
  Value step = step_at(e, job, dimension, dtype), place = e.cast(places_of(e, places), dtype);
  if (job.how.filter == Filter::nearest_exact) {
    place = e.node("Add", {place, e.scalar(dtype, 0.5)});
  } else if (small_image && goes_by_factor(job.sides[dimension])) {  // the exact factor for a size that stays or doubles
    step = e.node("Where", {e.node("Equal", {places, product(e, size, e.integers({2}))}), e.scalar(dtype, 0.5), step});
    step = e.node("Where", {e.node("Equal", {places, size}), e.scalar(dtype, 1.0), step});
  }
  const Value cell = e.cast(e.node("Floor", {e.cast(e.node("Mul", {place, step}), DType::f32)}), DType::i64);
  return minimum(e, cell, difference(e, size, e.integers({1})));
}

}  // namespace

Value nearest_at_run_time(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  demand_counting(e);
  const auto cells = [&] {
    const auto marked = e.build.plumbing();  // would be a constant if the sizes were known
    const Value made = nearest_cells(e, job, dimension, is_small_image(job).value_or(false));
    const bool exact = job.how.filter == Filter::nearest && goes_by_factor(job.sides[dimension]);
    if (is_small_image(job) || !(exact || job.how.in_double)) return made;
    const Value places = sum(e, places_at(e, job, 0), places_at(e, job, 1));
    const Value small = e.node("Less", {places, e.integers({small_image_places + 1})});
    return e.node("Where", {small, nearest_cells(e, job, dimension, true), made});
  };
  return e.build.gather(input, cells(), static_cast<std::int64_t>(dimension) + 2);
}

namespace {

Value resized_by_weights(Emission& e, const Job& job) {
  Value made = job.how.in_double ? job.input : e.cast(job.input, DType::f32);
  for (std::size_t i = job.dims(); i-- > 0;) made = by_weights(e, job, made, i);
  return made;
}

// Resize truncates the size in single precision: if the result is too small, the next larger factor is used, and the surplus
// is sliced off. Neighbouring factors give the same result within rounding; positions in whole cells would not.
Value resize_by_factor(Emission& e, const Job& job, const Arguments& attributes) {
  Values factors{e.build.constant(onnx::make_tensor(DType::f32, {2}, std::vector<double>{1, 1}))}, places;
  for (std::size_t i = 0; i < job.dims(); ++i) {
    places.push_back(places_at(e, job, i));
    const Value cells = size_at(e, job.input, static_cast<std::int64_t>(i) + 2), size = e.cast(cells, DType::f32);
    Value factor = e.build.reshape(e.cast(job.sides[i].factor, DType::f32), {1});
    if (job.how.filter == Filter::linear)
      factor = e.node("Where", {e.node("Equal", {places.back(), cells}), e.scalar(DType::f32, 1.0), factor});
    const Value too_small = e.node("Less", {e.node("Floor", {e.node("Mul", {size, factor})}), e.cast(places.back(), DType::f32)});
    factors.push_back(e.node("Where", {too_small, e.node("Mul", {factor, e.scalar(DType::f32, 1.0 + 0x1p-23)}), factor}));
  }
  const Value scales = e.build.concat(factors, 0);
  e.build.state_sizes(scales, {2 + static_cast<std::int64_t>(job.dims())});
  const Value resized = e.node("Resize", {job.input, no_region(e), scales}, attributes);
  Ints axes;
  for (std::size_t i = 0; i < job.dims(); ++i) axes.push_back(static_cast<std::int64_t>(i) + 2);
  return e.node("Slice", {resized, e.integers(Ints(axes.size(), 0)), e.build.concat(places, 0), e.integers(axes)});
}

// One Resize in the form that engines know from PyTorch's exporter, but for two cases: ONNX Runtime copies where all sizes stay,
// whatever the factors, and pytorch_half_pixel takes the first cell for the only one.
Value cubic_by_factors(Emission& e, const Job& job) {
  const Value resized = resize_by_factor(e, job,
                                         {{"mode", "cubic"},
                                          {"coordinate_transformation_mode", "pytorch_half_pixel"},
                                          {"cubic_coeff_a", -0.75},
                                          {"nearest_mode", "floor"}});
  Value stay, single;
  for (std::size_t i = 0; i < job.dims(); ++i) {
    const Value places = places_at(e, job, i);
    const Value same = e.node("Equal", {places, size_at(e, job.input, static_cast<std::int64_t>(i) + 2)}),
                one = e.node("Equal", {places, e.integers({1})});
    stay = stay ? e.node("And", {stay, same}) : same;
    single = single ? e.node("Or", {single, one}) : one;
  }
  const auto by_cells = e.build.begin_body();
  e.build.end_body({e.cast(resized_by_weights(e, job), job.input.dtype)});
  const auto as_it_is = e.build.begin_body();
  e.build.end_body({e.build.again(resized)});
  return e.build
      .control("If", {e.build.reshape(e.node("Or", {stay, single}), {})}, {{"then_branch", by_cells}, {"else_branch", as_it_is}},
               {job.input.dtype}, {false})
      .front();
}

}  // namespace

bool is_nearest(const Job& job) { return job.how.filter == Filter::nearest || job.how.filter == Filter::nearest_exact; }

bool known(const Side& side) { return side.size.is_number() && side.places.is_number(); }

bool goes_by_factor(const Side& side) { return side.factor || side.scale; }

bool takes(const Job& job) {
  switch (job.input.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16: return true;
    case DType::u8:
    case DType::i8:
    case DType::i32: return is_nearest(job);
    default: return false;
  }
}

Arguments resize_attributes(const Job& job) {
  const bool corners = job.how.align_corners && !is_nearest(job);
  Arguments attributes{{"mode", is_nearest(job)                    ? "nearest"
                                : job.how.filter == Filter::linear ? "linear"
                                                                   : "cubic"},
                       {"coordinate_transformation_mode", corners                             ? "align_corners"
                                                          : job.how.filter == Filter::nearest ? "asymmetric"
                                                                                              : "half_pixel"}};
  if (is_nearest(job)) attributes.push_back({"nearest_mode", job.how.filter == Filter::nearest ? "floor" : "round_prefer_ceil"});
  if (job.how.filter == Filter::cubic) attributes.push_back({"cubic_coeff_a", job.how.antialias ? -0.5 : -0.75});
  if (job.how.antialias) {
    attributes.push_back({"antialias", 1});
    attributes.push_back({"exclude_outside", 1});
  }
  return attributes;
}

// Whether the kernel for small images computes the result: it does for two dimensions with at most 128 positions in total.
// nullopt: known only at run time.
std::optional<bool> is_small_image(const Job& job) {
  if (job.dims() != 2) return false;
  std::int64_t places = 0, known_places = 0;
  for (const Side& side : job.sides) {
    if (side.places.is_number()) ++known_places, places += *side.places.number();
  }
  if (places > small_image_places) return false;
  return known_places == 2 ? std::optional(true) : std::nullopt;
}

namespace {

// Whether Resize by factors computes what PyTorch does.
bool resizes_by_factor(Emission& e, const Job& job) {
  return e.at_least(11) && takes(job) && !job.how.antialias && job.how.filter != Filter::lanczos && !job.how.align_corners;
}

bool prefers_one_resize(Emission& e, const Job& job) {
  const bool open = !std::ranges::all_of(job.sides, known);
  return open && !is_nearest(job) && resizes_by_factor(e, job) &&
         e.build.compact(
             "the result may differ from PyTorch's where the factor isn't 1 and a size stays as it is, or where "
             "single precision misses a size");
}

Value one_resize(Emission& e, const Job& job) {
  const Value one = e.build.constant(onnx::make_tensor(DType::f32, {1}, std::vector<double>{1}));
  Values factors{one, one};
  for (const Side& side : job.sides) factors.push_back(e.build.reshape(e.cast(side.factor, DType::f32), {1}));
  const Value scales = e.build.concat(factors, 0);
  e.build.state_sizes(scales, {2 + static_cast<std::int64_t>(job.dims())});
  return e.node("Resize", {job.input, no_region(e), scales}, resize_attributes(job));
}

}  // namespace

Value by_factors(Emission& e, const Job& job) {
  if (prefers_one_resize(e, job)) return one_resize(e, job);
  if (is_nearest(job)) {
    Value made = job.input;
    for (std::size_t i = 0; i < job.dims(); ++i) made = nearest_at_run_time(e, job, made, i);
    return made;
  }
  if (!resizes_by_factor(e, job)) return resized_by_weights(e, job);
  return job.how.filter == Filter::cubic ? cubic_by_factors(e, job) : resize_by_factor(e, job, resize_attributes(job));
}

}  // namespace compatcheck::handlers
