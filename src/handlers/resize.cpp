// Interpolation to a size or by a factor.
#include <algorithm>
#include <cmath>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/interpolation.h"
#include "handlers/sizes.h"
#include "handlers/windows.h"

namespace compatcheck::handlers {
namespace {

// One resized dimension.
struct Side {
  Dim size, places;
  std::optional<double> scale;  // the factor that the call gives and that coordinates go by
  Value factor;                 // the same, known when the model runs: f64 without dimensions
};

struct Job {
  Value input;
  Shape shape;
  Resized how;
  std::vector<Side> sides;
  Value places;  // i64 vector; made where a node needs it
  std::size_t dims() const { return sides.size(); }
};

bool is_nearest(const Job& job) { return job.how.filter == Filter::nearest || job.how.filter == Filter::nearest_exact; }

bool known(const Side& side) { return side.size.is_number() && side.places.is_number(); }

bool stays(const Side& side) { return known(side) && *side.size.number() == *side.places.number(); }

// ---- Positions and weights that are known while converting

Value by_taps(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  const Side& side = job.sides[dimension];
  if (!known(side)) e.want(e.call.has("self") ? "self" : "input", "where Resize doesn't do, a size");
  const std::int64_t size = *side.size.number(), places = *side.places.number();
  const auto rank = static_cast<std::int64_t>(job.shape.size()), axis = static_cast<std::int64_t>(dimension) + 2;
  const Taps taps = taps_of(job.how, size, places, side.scale);
  if (taps.weights.empty()) return e.build.gather(input, e.integers(taps.positions), axis);
  const Value gathered = gather_cells(e, input, rank, axis, size, {taps.count, places, taps.positions});
  Ints dims{taps.count, places};
  dims.resize(static_cast<std::size_t>(rank - axis) + 1, 1);
  const Value weights = e.build.constant(onnx::make_tensor(gathered.dtype, dims, taps.weights));
  return e.node("ReduceSum", {e.node("Mul", {gathered, weights})}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

Value by_taps(Emission& e, const Job& job) {
  Value made = is_nearest(job) || job.input.dtype == DType::f64 ? job.input : e.cast(job.input, DType::f32);
  for (std::size_t i = job.dims(); i-- > 0;)
    if (!known(job.sides[i]) || *job.sides[i].size.number() != *job.sides[i].places.number() || job.how.antialias ||
        job.sides[i].scale)
      made = by_taps(e, job, made, i);
  return made;
}

// ---- Resize

// As many sizes as are tried where the size is known only when the model runs.
constexpr std::int64_t most_tried = 1 << 13;

// Whether Resize by this factor gives the size, in single and in double precision: ONNX doesn't say which.
bool gives(std::int64_t size, double scale, std::int64_t places) {
  const auto rounded = static_cast<float>(scale);
  return static_cast<std::int64_t>(rounded * static_cast<float>(size)) == places &&
         static_cast<std::int64_t>(static_cast<double>(rounded) * static_cast<double>(size)) == places;
}

bool scale_gives_size(const Side& side, double scale) {
  if (known(side)) return gives(*side.size.number(), scale, *side.places.number());
  for (std::int64_t size = 1; size <= most_tried; ++size)
    if (!gives(size, scale, static_cast<std::int64_t>(static_cast<double>(size) * scale))) return false;
  return true;
}

// Whether Resize takes the cells that PyTorch takes.
bool same_cells(const Job& job, const Side& side) {
  if (!is_nearest(job)) return true;
  if (known(side)) {
    const std::int64_t size = *side.size.number(), places = *side.places.number();
    return taps_of(job.how, size, places, side.scale).positions == resize_positions(job.how.filter, size, places, side.scale);
  }
  if (!side.scale) return true;
  const auto same = [&](std::int64_t size) {  // small sizes: PyTorch takes a size that stays, or doubles, by itself
    const auto places = static_cast<std::int64_t>(static_cast<double>(size) * *side.scale);
    return taps_of(job.how, size, places, side.scale).positions == resize_positions(job.how.filter, size, places, side.scale);
  };
  for (std::int64_t size = 1; size <= 64; ++size)
    if (!same(size)) return false;
  return same(most_tried);
}

bool may_stay(const Side& side) { return known(side) ? stays(side) : side.scale.value_or(1) >= 1 && side.scale.value_or(1) < 2; }

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

// Factors of all dimensions; nullopt where the size must be told.
std::optional<std::vector<double>> scales_of(const Job& job) {
  std::vector<double> scales(2, 1.0);
  for (const Side& side : job.sides) {
    std::optional<double> scale = side.scale;
    if (job.how.filter == Filter::linear && scale && !job.how.antialias &&
        !job.how.align_corners) {  // PyTorch leaves a size that stays as it is, whatever the factor
      if (!known(side) && *scale > 1 && *scale < 2) return std::nullopt;
      if (stays(side)) scale = 1.0;
    }
    if (!scale && known(side))
      scale = static_cast<double>(static_cast<float>(*side.places.number()) / static_cast<float>(*side.size.number()));
    if (!scale || !scale_gives_size(side, *scale)) return std::nullopt;
    scales.push_back(*scale);
  }
  return scales;
}

bool resize_does(const Job& job) {
  if (!takes(job) || job.how.filter == Filter::lanczos || (job.how.antialias && job.how.align_corners)) return false;
  if (!std::ranges::all_of(job.sides, [&](const Side& side) { return same_cells(job, side); })) return false;
  // ONNX Runtime copies where all sizes stay, whatever the factors.
  if (job.how.filter == Filter::cubic && !job.how.align_corners && std::ranges::all_of(job.sides, may_stay) &&
      std::ranges::any_of(job.sides, [](const Side& side) { return side.scale.value_or(1) != 1; }))
    return false;
  const bool by_factor = std::ranges::any_of(job.sides, [](const Side& side) { return side.scale.has_value(); });
  return !by_factor || job.how.align_corners || scales_of(job);
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

Value resize(Emission& e, const Job& job) {
  const Arguments attributes = resize_attributes(job);
  const auto floats = [&](const std::vector<double>& numbers) {
    return e.build.constant(onnx::make_tensor(DType::f32, {static_cast<std::int64_t>(numbers.size())}, numbers));
  };
  const Value none = e.at_least(13) ? Value{} : floats({});
  if (const auto scales = scales_of(job)) return e.node("Resize", {job.input, none, floats(*scales)}, attributes);
  if (!job.places) e.want(e.call.has("self") ? "self" : "input", "a size");
  const Value kept = e.build.slice(e.node("Shape", {job.input}), {0}, {2}, {0});
  return e.node("Resize", {job.input, none, none, e.build.concat({kept, job.places}, 0)}, attributes);
}

// ---- Factors that are known when the model runs

// The size of the result along a dimension, as PyTorch computes it: in double, cut off. An i64 vector of one.
Value places_by_factor(Emission& e, const Job& job, std::size_t dimension) {
  const Value size = e.cast(size_at(e, job.input, static_cast<std::int64_t>(dimension) + 2), DType::f64);
  return e.cast(e.node("Mul", {size, e.build.reshape(job.sides[dimension].factor, {1})}), DType::i64);
}

// The cells that are nearest: (place or its middle) / factor, in single precision.
Value nearest_by_factor(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  const auto axis = static_cast<std::int64_t>(dimension) + 2;
  const Value places = places_by_factor(e, job, dimension), size = size_at(e, job.input, axis), half = e.scalar(DType::f32, 0.5);
  Value step = e.cast(e.node("Reciprocal", {job.sides[dimension].factor}), DType::f32),
        place = e.cast(counting(e, places), DType::f32);
  if (job.how.filter == Filter::nearest_exact) {
    place = e.node("Add", {place, half});
  } else {  // PyTorch takes a size that stays, or doubles, by itself
    step = e.node("Where", {e.node("Equal", {places, product(e, size, e.integers({2}))}), half, step});
    step = e.node("Where", {e.node("Equal", {places, size}), e.scalar(DType::f32, 1.0), step});
  }
  const Value cell = e.cast(e.node("Floor", {e.node("Mul", {place, step})}), DType::i64);
  const Value last = difference(e, size, e.integers({1}));
  return e.build.gather(input, minimum(e, cell, last), axis);
}

// Resize cuts off the size in single precision: where that is too small the factor is the next larger one, and what is too much
// is sliced off. Neighbouring factors give the same within rounding, places by cells don't.
Value resize_by_factor(Emission& e, const Job& job, const Arguments& attributes) {
  Values factors{e.build.constant(onnx::make_tensor(DType::f32, {2}, std::vector<double>{1, 1}))}, places;
  for (std::size_t i = 0; i < job.dims(); ++i) {
    places.push_back(places_by_factor(e, job, i));
    const Value cells = size_at(e, job.input, static_cast<std::int64_t>(i) + 2), size = e.cast(cells, DType::f32);
    Value factor = e.build.reshape(e.cast(job.sides[i].factor, DType::f32), {1});
    if (job.how.filter == Filter::linear)
      factor = e.node("Where", {e.node("Equal", {places.back(), cells}), e.scalar(DType::f32, 1.0), factor});
    const Value too_small = e.node("Less", {e.node("Floor", {e.node("Mul", {size, factor})}), e.cast(places.back(), DType::f32)});
    factors.push_back(e.node("Where", {too_small, e.node("Mul", {factor, e.scalar(DType::f32, 1.0 + 0x1p-23)}), factor}));
  }
  const Value resized =
      e.node("Resize",
             {job.input, e.at_least(13) ? Value{} : e.build.constant(onnx::make_tensor(DType::f32, {0}, std::vector<double>{})),
              e.build.concat(factors, 0)},
             attributes);
  Ints axes;
  for (std::size_t i = 0; i < job.dims(); ++i) axes.push_back(static_cast<std::int64_t>(i) + 2);
  return e.node("Slice", {resized, e.integers(Ints(axes.size(), 0)), e.build.concat(places, 0), e.integers(axes)});
}

// Four cells around each place, as PyTorch weighs them (Keys' kernel, a = -0.75), in single precision.
Value cubic_by_factor(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  const auto axis = static_cast<std::int64_t>(dimension) + 2;
  const auto number = [&](double value) { return e.scalar(DType::f32, value); };
  const Value step = e.cast(e.node("Reciprocal", {job.sides[dimension].factor}), DType::f32),
              places = places_by_factor(e, job, dimension);
  const Value middle = e.node("Add", {e.cast(counting(e, places), DType::f32), number(0.5)});
  const Value place = e.node("Sub", {e.node("Mul", {middle, step}), number(0.5)}), cell = e.node("Floor", {place}),
              after = e.node("Sub", {place, cell});
  const Value before = e.node("Sub", {number(1), after}), last = difference(e, size_at(e, input, axis), e.integers({1}));
  const auto near = [&](const Value& t) {  // 1.25 t³ − 2.25 t² + 1
    return e.node("Add", {e.node("Mul", {e.node("Mul", {e.node("Sub", {e.node("Mul", {t, number(1.25)}), number(2.25)}), t}), t}),
                          number(1)});
  };
  const auto far = [&](const Value& t) {  // of t + 1: −0.75 t³ + 1.5 t² − 0.75 t
    return e.node(
        "Mul",
        {e.node("Sub", {e.node("Mul", {e.node("Sub", {number(1.5), e.node("Mul", {t, number(0.75)})}), t}), number(0.75)}), t});
  };
  const Values weights{far(after), near(after), near(before), far(before)};
  Ints dims(job.shape.size() - static_cast<std::size_t>(axis), 1);
  dims.front() = -1;
  Value sum;
  for (std::size_t tap = 0; tap < weights.size(); ++tap) {
    const Value wanted = e.node("Add", {e.cast(cell, DType::i64), e.integers({static_cast<std::int64_t>(tap) - 1})});
    const Value position = minimum(e, maximum(e, wanted, e.integers({0})), last);
    const Value part = e.node("Mul", {e.build.gather(input, position, axis), e.build.reshape(weights[tap], dims)});
    sum = sum ? e.node("Add", {sum, part}) : part;
  }
  return sum;
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
    const Value places = places_by_factor(e, job, i);
    const Value same = e.node("Equal", {places, size_at(e, job.input, static_cast<std::int64_t>(i) + 2)}),
                one = e.node("Equal", {places, e.integers({1})});
    stay = stay ? e.node("And", {stay, same}) : same;
    single = single ? e.node("Or", {single, one}) : one;
  }
  const auto by_cells = e.build.begin_body();
  Value made = e.cast(job.input, DType::f32);
  for (std::size_t i = job.dims(); i-- > 0;) made = cubic_by_factor(e, job, made, i);
  e.build.end_body({e.cast(made, job.input.dtype)});
  const auto as_it_is = e.build.begin_body();
  e.build.end_body({e.node("Identity", {resized})});
  return e.build
      .control("If", {e.build.reshape(e.node("Or", {stay, single}), {})}, {{"then_branch", by_cells}, {"else_branch", as_it_is}},
               {job.input.dtype}, {false})
      .front();
}

bool can_go_by_factors(const Job& job) {
  return is_nearest(job) || (takes(job) && !job.how.antialias && job.how.filter != Filter::lanczos && !job.how.align_corners);
}

Value by_factors(Emission& e, const Job& job) {
  if (!e.at_least(11))
    throw Refusal{"a factor that is known only when the model runs needs Resize as it came with opset 11",
                  "use opset 11, or a fixed factor"};
  if (is_nearest(job)) {
    Value made = job.input;
    for (std::size_t i = 0; i < job.dims(); ++i) made = nearest_by_factor(e, job, made, i);
    return made;
  }
  if (!can_go_by_factors(job))
    throw Refusal{"resizing so needs a factor that is known while converting",
                  "use a fixed factor, or align_corners=False and antialias=False"};
  return job.how.filter == Filter::cubic ? cubic_by_factors(e, job) : resize_by_factor(e, job, resize_attributes(job));
}

// By whole factors, before Resize knew coordinates.
Value repeat(Emission& e, const Job& job) {
  std::vector<double> scales(2, 1.0);
  for (const Side& side : job.sides) scales.push_back(side.scale.value());
  return e.node(e.row_has("Upsample") ? "Upsample" : "Resize", {job.input}, {{"mode", "nearest"}, {"scales", scales}});
}

void emit(Emission& e, const Job& job) {
  if (!ir::is_floating(job.input.dtype) && !is_nearest(job))
    throw Refusal{"resizing integers rounds in PyTorch's own way", "resize as float32"};
  if (std::ranges::any_of(job.sides, [](const Side& side) { return bool(side.factor); })) return e.give(by_factors(e, job));
  const bool whole = e.row_has("Upsample") || (e.row_has("Resize") && !e.at_least(11));
  if (whole && takes(job)) return e.give(repeat(e, job));
  const bool resizes = e.row_has("Resize") && e.at_least(11);
  if (resizes && resize_does(job)) return e.give(resize(e, job));
  if (resizes && !job.places && !std::ranges::all_of(job.sides, known) && can_go_by_factors(job)) {
    Job open = job;
    for (Side& side : open.sides) side.factor = e.scalar(DType::f64, side.scale.value_or(1.0)), side.scale.reset();
    return e.give(by_factors(e, open));
  }
  e.give(by_taps(e, job));
}

// ---- Calls

struct Factor {
  std::optional<double> known;
  Value given;
};

Factor factor_of(Emission& e, const Operand& operand) {
  const Number* number = operand.number();
  if (!number) return {{}, e.cast(e.as_tensor(operand, "scale_factors"), DType::f64)};
  if (const auto* floating = std::get_if<double>(&number->value)) return {*floating, {}};
  if (const auto* integer = std::get_if<std::int64_t>(&number->value)) return {static_cast<double>(*integer), {}};
  return {{}, e.cast(e.as_tensor(operand, "scale_factors"), DType::f64)};
}

// An argument that is one factor, or one for each dimension.
std::vector<Factor> factors(Emission& e, std::string_view argument, std::size_t dims) {
  const Operand& operand = e.operand(argument);
  std::vector<Factor> made;
  if (const List* list = operand.list()) {
    for (const Operand& item : list->items) made.push_back(factor_of(e, item));
  } else if (const auto* vector = std::get_if<Vector>(&operand.value)) {
    for (std::size_t i = 0; i < dims; ++i)
      made.push_back(
          {{}, e.cast(e.build.gather(vector->value, e.scalar(DType::i64, static_cast<std::int64_t>(i)), 0), DType::f64)});
  } else {
    made.push_back(factor_of(e, operand));
  }
  if (made.size() == 1) made.resize(dims, made.front());
  if (made.size() != dims)
    throw Refusal{"there are " + std::to_string(made.size()) + " factors for " + std::to_string(dims) + " dimensions"};
  return made;
}

// Factors by which coordinates go: scale_factors, or scales_d, scales_h, scales_w.
std::vector<Factor> factors(Emission& e, std::size_t dims) {
  for (const char* name : {"scale_factors", "scales"})
    if (e.given(name)) return factors(e, name, dims);
  std::vector<Factor> made;
  static constexpr std::string_view names[] = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t i = 3 - dims; i < 3; ++i) made.push_back(e.given(names[i]) ? factors(e, names[i], 1).front() : Factor{});
  return made;
}

// Where one factor is known when the model runs, all count as that. A size that is told needs no factor.
void settle_factors(Emission& e, Job& job) {
  const auto open = [](const Side& side) { return bool(side.factor); };
  if (std::ranges::none_of(job.sides, open)) return;
  if (job.places) throw Refusal{"a size is told, and a factor that is known only when the model runs", "use one of them"};
  for (Side& side : job.sides)
    if (!side.factor) side.factor = e.scalar(DType::f64, side.scale.value_or(1.0)), side.scale.reset();
}

Job job_of(Emission& e, Filter filter, bool antialias) {
  const std::string_view input = e.call.has("self") ? "self" : "input";
  Job job{.input = e.tensor(input),
          .shape = e.shape(input),
          .how = {filter, e.boolean("align_corners"), antialias, e.dtype(input) == DType::f64},
          .sides = {},
          .places = {}};
  if (e.given("output_size")) job.places = e.int_vector("output_size");
  const Shape& places = e.output_shape();
  const auto scales = factors(e, places.size() - 2);
  for (std::size_t i = 2; i < places.size(); ++i)
    job.sides.push_back({job.shape[i], places[i], scales[i - 2].known, scales[i - 2].given});
  settle_factors(e, job);
  return job;
}

Filter filter_of_name(std::string_view op) {
  const auto names = [&](std::string_view word) { return op.find(word) != std::string_view::npos; };
  if (names("nearest")) return names("exact") ? Filter::nearest_exact : Filter::nearest;
  return names("lanczos") ? Filter::lanczos : names("cubic") ? Filter::cubic : Filter::linear;
}

void upsample(Emission& e) { emit(e, job_of(e, filter_of_name(e.call.op()), e.call.op().ends_with("_aa"))); }

Filter filter_of(const std::string& mode) {
  if (mode == "nearest") return Filter::nearest;
  if (mode == "nearest-exact") return Filter::nearest_exact;
  return mode == "bicubic" ? Filter::cubic : Filter::linear;
}

void interpolate(Emission& e) {
  Job job{
      .input = e.tensor("input"),
      .shape = e.shape("input"),
      .how = {filter_of(e.string("mode")), e.boolean("align_corners"), e.boolean("antialias"), e.dtype("input") == DType::f64},
      .sides = {},
      .places = {}};
  const Shape& places = e.output_shape();
  std::vector<Factor> scales(places.size() - 2);
  if (e.given("size")) {
    job.places = e.int_vector("size");
    if (places.size() > 3 && e.call.fact("size").number()) job.places = e.build.concat(Values(places.size() - 2, job.places), 0);
  } else if (!e.boolean("recompute_scale_factor")) {
    scales = factors(e, "scale_factor", scales.size());
  }
  for (std::size_t i = 2; i < places.size(); ++i)
    job.sides.push_back({job.shape[i], places[i], scales[i - 2].known, scales[i - 2].given});
  settle_factors(e, job);
  emit(e, job);
}

}  // namespace

void register_resize(Registry& registry) {
  for (const char* op : {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d",
                         "aten::upsample_nearest1d.vec", "aten::_upsample_nearest_exact1d", "aten::upsample_linear1d",
                         "aten::upsample_bilinear2d", "aten::upsample_trilinear3d", "aten::upsample_bicubic2d",
                         "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa", "aten::_upsample_lanczos2d_aa"})
    registry.handler(op, upsample);
  registry.handler("aten::__interpolate", interpolate);
}

}  // namespace compatcheck::handlers
