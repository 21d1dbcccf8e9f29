// Interpolation to a size or by a factor.
#include "handlers/resize.h"

#include <algorithm>
#include <cmath>

#include "handlers/families.h"
#include "handlers/sizes.h"
#include "handlers/windows.h"
#include "process/spell_count.h"

namespace compatcheck::handlers {
namespace {

// Both kernels, where it isn't known which computes the result.
std::vector<Resized> kernels(const Job& job) {
  std::vector<Resized> made;
  const auto small = is_small_image(job);
  for (const bool kernel : {false, true}) {
    if (small.value_or(kernel) != kernel) continue;
    made.push_back(job.how);
    made.back().small_image = kernel;
  }
  return made;
}

bool kernels_differ(const Job& job, const Side& side) {
  const auto hows = kernels(job);
  const auto cells = [&](const Resized& how) {
    return taps_of(how, *side.size.number(), *side.places.number(), side.scale).positions;
  };
  return is_nearest(job) && cells(hows.front()) != cells(hows.back());
}

bool stays(const Side& side) { return known(side) && *side.size.number() == *side.places.number(); }

// ---- Positions and weights that are known while converting

Value by_taps(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  const Side& side = job.sides[dimension];
  if (!known(side) || kernels_differ(job, side))
    return is_nearest(job) ? nearest_at_run_time(e, job, input, dimension) : by_weights(e, job, input, dimension);
  const std::int64_t size = *side.size.number(), places = *side.places.number();
  const auto rank = static_cast<std::int64_t>(job.shape.size()), axis = static_cast<std::int64_t>(dimension) + 2;
  const Taps taps = taps_of(kernels(job).front(), size, places, side.scale);
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
    if (!stays(job.sides[i]) || (job.sides[i].scale && !job.how.antialias)) made = by_taps(e, job, made, i);
  return made;
}

// ---- Resize

// The number of sizes that are tried where the size is known only when the model runs.
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

bool same_cells(const Job& job, const Side& side, std::int64_t size, std::int64_t places) {
  const auto cells = resize_positions(job.how.filter, size, places, side.scale);
  return std::ranges::all_of(kernels(job),
                             [&](const Resized& how) { return taps_of(how, size, places, side.scale).positions == cells; });
}

// How many places each cell becomes, where that is a whole number whatever the size.
std::optional<double> whole_factor(const Side& side) {
  for (std::int64_t factor = 1; factor <= 32; ++factor)
    if (provably_equal(side.places, side.size * Dim(factor))) return static_cast<double>(factor);
  return {};
}

// Whether Resize takes the cells that PyTorch takes: single precision rounds the position of a border between cells.
bool same_cells(Emission& e, const Job& job, Side side) {
  if (!is_nearest(job)) return true;
  if (known(side)) return same_cells(job, side, *side.size.number(), *side.places.number());
  if (!side.scale) side.scale = whole_factor(side);
  if (!side.scale) return e.build.compact("the result may differ from PyTorch's where a pixel lies on the border of two");
  const auto same = [&](std::int64_t size) {  // small images may use the exact factor for a size that stays or doubles
    return same_cells(job, side, size, static_cast<std::int64_t>(static_cast<double>(size) * *side.scale));
  };
  for (std::int64_t size = 1; size <= 64; ++size)
    if (!same(size)) return false;
  return same(most_tried);
}

bool may_stay(const Side& side) { return known(side) ? stays(side) : side.scale.value_or(1) >= 1 && side.scale.value_or(1) < 2; }

// Factors of all dimensions; nullopt if Resize needs sizes.
std::optional<std::vector<double>> scales_of(const Job& job) {
  std::vector<double> scales(2, 1.0);
  for (const Side& side : job.sides) {
    std::optional<double> scale = side.scale;
    if ((job.how.filter == Filter::linear || job.how.antialias) && scale && !job.how.align_corners) {
      // PyTorch leaves a size that stays as it is, whatever the factor.
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

bool resize_does(Emission& e, const Job& job) {
  if (!takes(job) || job.how.filter == Filter::lanczos || (job.how.antialias && job.how.align_corners)) return false;
  if (!std::ranges::all_of(job.sides, [&](const Side& side) { return same_cells(e, job, side); })) return false;
  // ONNX Runtime copies where all sizes stay, whatever the factors. So does PyTorch's linear or antialiased interpolation.
  if (job.how.filter != Filter::linear && !job.how.antialias && !job.how.align_corners &&
      std::ranges::all_of(job.sides, may_stay) &&
      std::ranges::any_of(job.sides, [](const Side& side) { return side.scale.value_or(1) != 1; }))
    return false;
  const bool by_factor = std::ranges::any_of(job.sides, [](const Side& side) { return side.scale.has_value(); });
  return !by_factor || (job.how.align_corners && job.places) || scales_of(job);
}

Value resize(Emission& e, const Job& job) {
  const Arguments attributes = resize_attributes(job);
  const auto floats = [&](const std::vector<double>& numbers) {
    return e.build.constant(onnx::make_tensor(DType::f32, {static_cast<std::int64_t>(numbers.size())}, numbers));
  };
  const Value none = no_region(e);
  if (const auto scales = scales_of(job)) return e.node("Resize", {job.input, none, floats(*scales)}, attributes);
  if (!job.places) e.want(e.call.has("self") ? "self" : "input", "a size");
  const Value kept = e.build.slice(e.node("Shape", {job.input}), {0}, {2}, {0});
  const Value sizes = e.build.concat({kept, job.places}, 0);
  e.build.state_sizes(sizes, {2 + static_cast<std::int64_t>(job.dims())});  // Resize in a body fails without it
  return e.node("Resize", {job.input, none, none, sizes}, attributes);
}

// Resizes by whole factors, at opsets before Resize had coordinates.
Value by_whole_factors(Emission& e, const Job& job) {
  std::vector<double> scales(2, 1.0);
  for (const Side& side : job.sides) scales.push_back(side.scale.value());
  return e.node(e.at_least(10) ? "Resize" : "Upsample", {job.input}, {{"mode", "nearest"}, {"scales", scales}});
}

void emit(Emission& e, const Job& job) {
  if (!ir::is_floating(job.input.dtype) && !is_nearest(job))
    throw Refusal{"resizing integers rounds in PyTorch's own way", "resize as float32"};
  if (std::ranges::any_of(job.sides, [](const Side& side) { return bool(side.factor); })) return e.give(by_factors(e, job));
  if (e.variant("repeated") && takes(job)) return e.give(by_whole_factors(e, job));
  const bool resizes = e.variant("operator");
  if (resizes && resize_does(e, job)) return e.give(resize(e, job));
  if (!job.places && !std::ranges::all_of(job.sides, known)) {
    Job open = job;
    for (Side& side : open.sides) side.factor = e.scalar(DType::f64, side.scale.value_or(1.0)), side.scale.reset();
    return e.give(by_factors(e, open));
  }
  e.give(by_taps(e, job));
}

// ---- Calls

struct GivenFactor {
  std::optional<double> known;
  Value given;
};

GivenFactor given_factor(Emission& e, const Operand& operand) {
  const Number* number = operand.number();
  if (!number) return {{}, e.cast(e.as_tensor(operand, "scale_factors"), DType::f64)};
  if (const auto* floating = std::get_if<double>(&number->value)) return {*floating, {}};
  if (const auto* integer = std::get_if<std::int64_t>(&number->value)) return {static_cast<double>(*integer), {}};
  return {{}, e.cast(e.as_tensor(operand, "scale_factors"), DType::f64)};
}

// An argument that is one factor, or one for each dimension.
std::vector<GivenFactor> factors(Emission& e, std::string_view argument, std::size_t dims) {
  const Operand& operand = e.operand(argument);
  std::vector<GivenFactor> made;
  if (const List* list = operand.list()) {
    for (const Operand& item : list->items) made.push_back(given_factor(e, item));
  } else if (const auto* vector = std::get_if<Vector>(&operand.value)) {
    for (std::size_t i = 0; i < dims; ++i)
      made.push_back({{},
                      e.cast(e.build.gather(e.build.size(vector->value), e.scalar(DType::i64, static_cast<std::int64_t>(i)), 0),
                             DType::f64)});
  } else {
    made.push_back(given_factor(e, operand));
  }
  if (made.size() == 1) made.resize(dims, made.front());
  if (made.size() != dims)
    throw Refusal{"there are " + spell_count(made.size(), "factor") + " for " + spell_count(dims, "dimension")};
  return made;
}

// Factors by which coordinates go: scale_factors, or scales_d, scales_h, scales_w.
std::vector<GivenFactor> factors(Emission& e, std::size_t dims) {
  for (const char* name : {"scale_factors", "scales"})
    if (e.given(name)) return factors(e, name, dims);
  std::vector<GivenFactor> made;
  static constexpr std::string_view names[] = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t i = 3 - dims; i < 3; ++i) made.push_back(e.given(names[i]) ? factors(e, names[i], 1).front() : GivenFactor{});
  return made;
}

// Where one factor is known when the model runs, all become values. A side with a given size needs no factor.
void settle_factors(Emission& e, Job& job) {
  const auto open = [](const Side& side) { return bool(side.factor); };
  if (std::ranges::none_of(job.sides, open)) return;
  if (job.places) throw Refusal{"both a size and a factor that is known only at run time are given", "use one of them"};
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

// The ratio of the sizes counts in place of the factors. A whole factor is that ratio.
void recompute_factors(Emission& e, Job& job) {
  if (std::ranges::all_of(job.sides, [](const Side& side) { return side.scale && *side.scale == std::floor(*side.scale); }))
    return;
  for (Side& side : job.sides) {
    if (!side.factor && side.scale) side.factor = e.scalar(DType::f64, *side.scale);
    side.scale.reset();
  }
  if (!job.places && job.sides.front().factor) {
    Values places;
    for (std::size_t i = 0; i < job.dims(); ++i) places.push_back(places_at(e, job, i));
    job.places = e.build.concat(places, 0);
  }
  for (Side& side : job.sides) side.factor = {};
}

void interpolate(Emission& e) {
  Job job{
      .input = e.tensor("input"),
      .shape = e.shape("input"),
      .how = {filter_of(e.string("mode")), e.boolean("align_corners"), e.boolean("antialias"), e.dtype("input") == DType::f64},
      .sides = {},
      .places = {}};
  const Shape& places = e.output_shape();
  std::vector<GivenFactor> scales(places.size() - 2);
  if (e.given("size")) {
    job.places = e.int_vector("size");
    if (places.size() > 3 && e.call.fact("size").number()) job.places = e.build.concat(Values(places.size() - 2, job.places), 0);
  } else {
    scales = factors(e, "scale_factor", scales.size());
    if (const auto known = numbers_of({places.begin() + 2, places.end()})) job.places = e.integers(*known);
  }
  for (std::size_t i = 2; i < places.size(); ++i)
    job.sides.push_back({job.shape[i], places[i], scales[i - 2].known, scales[i - 2].given});
  // None is like True.
  if (!e.given("recompute_scale_factor") || e.boolean("recompute_scale_factor")) recompute_factors(e, job);
  settle_factors(e, job);
  emit(e, job);
}

}  // namespace

void register_resize(Registry& registry) {
  for (const char* op :
       {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d", "aten::_upsample_nearest_exact1d"})
    registry.handler(op, upsample, {"operator"});
  for (const char* op : {"aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d",
                         "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa"})
    registry.handler(op, upsample, {"operator"});
  registry.handler("aten::upsample_nearest1d.vec", upsample, {"operator", "repeated"});
  registry.handler("aten::_upsample_lanczos2d_aa", upsample);
  registry.handler("aten::__interpolate", interpolate, {"operator"});
}

}  // namespace compatcheck::handlers
