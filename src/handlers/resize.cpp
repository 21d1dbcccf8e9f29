// Interpolation to a size or by a factor.
#include <algorithm>
#include <cmath>

#include "handlers/families.h"
#include "handlers/interpolation.h"
#include "handlers/windows.h"

namespace compatcheck::handlers {
namespace {

// One resized dimension.
struct Side {
  Dim size, places;
  std::optional<double> scale;   // the factor that the call gives and that coordinates go by
};

struct Job {
  Value input;
  Shape shape;
  Resized how;
  std::vector<Side> sides;
  Value places;                  // i64 vector; made where a node needs it
  std::size_t dims() const { return sides.size(); }
};

bool is_nearest(const Job& job) { return job.how.filter == Filter::nearest || job.how.filter == Filter::nearest_exact; }

bool known(const Side& side) { return side.size.is_number() && side.places.is_number(); }

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
    if (!known(job.sides[i]) || *job.sides[i].size.number() != *job.sides[i].places.number() || job.how.antialias || job.sides[i].scale) made = by_taps(e, job, made, i);
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
  const auto same = [&](std::int64_t size) {   // small sizes: PyTorch takes a size that stays, or doubles, by itself
    const auto places = static_cast<std::int64_t>(static_cast<double>(size) * *side.scale);
    return taps_of(job.how, size, places, side.scale).positions == resize_positions(job.how.filter, size, places, side.scale);
  };
  for (std::int64_t size = 1; size <= 64; ++size)
    if (!same(size)) return false;
  return same(most_tried);
}

bool takes(const Job& job) {
  switch (job.input.dtype) {
    case DType::f32: case DType::f16: case DType::bf16: return true;
    case DType::u8: case DType::i8: case DType::i32: return is_nearest(job);
    default: return false;
  }
}

// Factors of all dimensions; nullopt where the size must be told.
std::optional<std::vector<double>> scales_of(const Job& job) {
  std::vector<double> scales(2, 1.0);
  for (const Side& side : job.sides) {
    std::optional<double> scale = side.scale;
    if (!scale && known(side)) scale = static_cast<double>(static_cast<float>(*side.places.number()) / static_cast<float>(*side.size.number()));
    if (!scale || !scale_gives_size(side, *scale)) return std::nullopt;
    scales.push_back(*scale);
  }
  return scales;
}

bool resize_does(const Job& job) {
  if (!takes(job) || job.how.filter == Filter::lanczos || (job.how.antialias && job.how.align_corners)) return false;
  if (!std::ranges::all_of(job.sides, [&](const Side& side) { return same_cells(job, side); })) return false;
  const bool by_factor = std::ranges::any_of(job.sides, [](const Side& side) { return side.scale.has_value(); });
  return !by_factor || job.how.align_corners || scales_of(job);
}

Value resize(Emission& e, const Job& job) {
  const bool corners = job.how.align_corners && !is_nearest(job);
  Arguments attributes{{"mode", is_nearest(job) ? "nearest" : job.how.filter == Filter::linear ? "linear" : "cubic"},
                       {"coordinate_transformation_mode", corners ? "align_corners" : job.how.filter == Filter::nearest ? "asymmetric" : "half_pixel"}};
  if (is_nearest(job)) attributes.push_back({"nearest_mode", job.how.filter == Filter::nearest ? "floor" : "round_prefer_ceil"});
  if (job.how.filter == Filter::cubic) attributes.push_back({"cubic_coeff_a", job.how.antialias ? -0.5 : -0.75});
  if (job.how.antialias) {
    attributes.push_back({"antialias", 1});
    attributes.push_back({"exclude_outside", 1});
  }
  const auto floats = [&](const std::vector<double>& numbers) {
    return e.build.constant(onnx::make_tensor(DType::f32, {static_cast<std::int64_t>(numbers.size())}, numbers));
  };
  const Value none = e.at_least(13) ? Value{} : floats({});
  if (const auto scales = scales_of(job)) return e.node("Resize", {job.input, none, floats(*scales)}, attributes);
  if (!job.places) e.want(e.call.has("self") ? "self" : "input", "a size");
  const Value kept = e.build.slice(e.node("Shape", {job.input}), {0}, {2}, {0});
  return e.node("Resize", {job.input, none, none, e.build.concat({kept, job.places}, 0)}, attributes);
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
  const bool whole = e.row_has("Upsample") || (e.row_has("Resize") && !e.at_least(11));
  if (whole && takes(job)) return e.give(repeat(e, job));
  if (e.row_has("Resize") && e.at_least(11) && resize_does(job)) return e.give(resize(e, job));
  e.give(by_taps(e, job));
}

// ---- Calls

// Factors by which coordinates go: scale_factors, or scales_d, scales_h, scales_w.
std::vector<std::optional<double>> factors(const Emission& e, std::size_t dims) {
  if (e.given("scale_factors")) {
    const auto all = e.floats("scale_factors");
    return {all.begin(), all.end()};
  }
  if (e.given("scales")) return {e.number("scales")};
  std::vector<std::optional<double>> made;
  static constexpr std::string_view names[] = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t i = 3 - dims; i < 3; ++i)
    made.push_back(e.given(names[i]) ? std::optional(e.number(names[i])) : std::nullopt);
  return made;
}

Job job_of(Emission& e, Filter filter, bool antialias) {
  const std::string_view input = e.call.has("self") ? "self" : "input";
  Job job{.input = e.tensor(input), .shape = e.shape(input), .how = {filter, e.boolean("align_corners"), antialias, e.dtype(input) == DType::f64}, .sides = {}, .places = {}};
  if (e.given("output_size")) job.places = e.int_vector("output_size");
  const Shape& places = e.output_shape();
  const auto scales = factors(e, places.size() - 2);
  for (std::size_t i = 2; i < places.size(); ++i) job.sides.push_back({job.shape[i], places[i], scales[i - 2]});
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
  Job job{.input = e.tensor("input"), .shape = e.shape("input"),
          .how = {filter_of(e.string("mode")), e.boolean("align_corners"), e.boolean("antialias"), e.dtype("input") == DType::f64}, .sides = {}, .places = {}};
  const Shape& places = e.output_shape();
  std::vector<std::optional<double>> scales(places.size() - 2);
  if (e.given("size")) {
    job.places = e.int_vector("size");
    if (places.size() > 3 && e.call.fact("size").number()) job.places = e.build.concat(Values(places.size() - 2, job.places), 0);
  } else if (!e.boolean("recompute_scale_factor")) {
    const bool list = e.call.fact("scale_factor").list() != nullptr;
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = list ? e.floats("scale_factor").at(i) : e.number("scale_factor");
  }
  for (std::size_t i = 2; i < places.size(); ++i) job.sides.push_back({job.shape[i], places[i], scales[i - 2]});
  emit(e, job);
}

}  // namespace

void register_resize(Registry& registry) {
  for (const char* op : {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d", "aten::upsample_nearest1d.vec",
                         "aten::_upsample_nearest_exact1d", "aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d",
                         "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa", "aten::_upsample_lanczos2d_aa"})
    registry.handler(op, upsample);
  registry.handler("aten::__interpolate", interpolate);
}

}  // namespace compatcheck::handlers
