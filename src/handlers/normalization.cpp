// Normalisations of batches, instances, layers and groups.
#include <algorithm>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Parameters

// One per channel, [channels, 1, …], so that it broadcasts over [batch, channels, …].
Value by_channel(Emission& e, const Value& vector, std::int64_t rank) {
  Ints dims(static_cast<std::size_t>(std::max<std::int64_t>(rank - 1, 1)), 1);
  dims.front() = -1;
  return rank <= 2 ? vector : e.build.reshape(vector, dims);
}

// The number of channels, from the input or a parameter.
std::optional<std::int64_t> channels(Emission& e) {
  if (const auto size = e.size("input", 1)) return size;
  for (const char* parameter : {"weight", "bias", "running_mean", "running_var"})
    if (e.call.has(parameter) && e.given(parameter))
      if (const auto size = e.size(parameter, 0)) return size;
  return std::nullopt;
}

Value per_channel(Emission& e, std::string_view argument, double otherwise, DType dtype) {
  if (e.call.has(argument) && e.given(argument)) return e.tensor(argument, dtype);
  const auto marked = e.build.plumbing();  // would be a constant if its size were known
  if (const auto count = channels(e)) return filled(e, e.integers({*count}), dtype, otherwise);
  return filled(e, e.size_of("input", 1), dtype, otherwise);
}

// Times weight, plus bias, as far as they are given; `place` brings them to where they broadcast.
template <class Place>
Value times_weight_plus_bias(Emission& e, Value x, Place&& place) {
  if (e.given("weight")) x = e.node("Mul", {x, place(e.tensor("weight", x.dtype))});
  if (e.given("bias")) x = e.node("Add", {x, place(e.tensor("bias", x.dtype))});
  return x;
}

// Mixed dtypes compute in the wider one: f16 inputs with f32 parameters.
DType compute_dtype(Emission& e) {
  const DType input = e.dtype("input");
  for (const char* parameter : {"weight", "bias", "running_mean", "running_var"})
    if (e.call.has(parameter) && e.given(parameter) && e.dtype(parameter) != input)
      return input == DType::f64 ? DType::f64 : DType::f32;
  return input;
}

// ---- Statistics written out

struct Statistics {
  Value mean, deviation, variance;
};

Statistics statistics_of(Emission& e, const Value& x, const Shape& shape, const Ints& axes, double epsilon) {
  const Value middle = mean(e, x, shape, axes, true);
  const Value off = e.node("Sub", {x, middle});
  const Value variance = mean(e, e.node("Mul", {off, off}), shape, axes, true);
  return {middle, e.node("Sqrt", {e.node("Add", {variance, e.scalar(x.dtype, epsilon)})}), variance};
}

// x · scale + (bias - mean · scale), in PyTorch's order, which matters if a scale is infinite. `place` reshapes parameters so
// that they broadcast with the statistics.
template <class Place>
Value applied(Emission& e, const Value& x, const Statistics& statistics, Place&& place) {
  Value scale = one_over(e, statistics.deviation);
  if (e.given("weight")) scale = e.node("Mul", {place(e.tensor("weight", x.dtype)), scale});
  const Value shift = e.node("Mul", {statistics.mean, scale});
  const Value bias = e.given("bias") ? place(e.tensor("bias", x.dtype)) : e.scalar(x.dtype, 0);
  return e.node("Add", {e.node("Mul", {x, scale}), e.node("Sub", {bias, shift})});
}

Ints except_channel(std::int64_t rank) {
  Ints axes = all_axes(rank);
  axes.erase(axes.begin() + 1);
  return axes;
}

// ---- By channel

Value by_running_statistics(Emission& e) {
  const DType dtype = compute_dtype(e);
  return e.node("BatchNormalization",
                {e.tensor("input", dtype), per_channel(e, "weight", 1, dtype), per_channel(e, "bias", 0, dtype),
                 per_channel(e, "running_mean", 0, dtype), per_channel(e, "running_var", 1, dtype)},
                {{"epsilon", e.number("eps")}});
}

struct Normalized {
  Value result;
  Statistics statistics;
};

Normalized by_batch_statistics(Emission& e) {
  const std::int64_t rank = e.rank("input");
  const Value x = widened(e, e.tensor("input"));
  const Statistics made = statistics_of(e, x, e.shape("input"), except_channel(rank), e.number("eps"));
  return {applied(e, x, made, [&](const Value& vector) { return by_channel(e, vector, rank); }), made};
}

void require_channels(Emission& e) {
  if (e.rank("input") < 2) throw Refusal{"batch normalization of a tensor with less than two dimensions"};
}

void batch_norm(Emission& e) {
  require_channels(e);
  e.give(e.variant("running") ? by_running_statistics(e) : by_batch_statistics(e).result);
}

// The running statistics after a batch, whose variance is without bias.
void give_running_statistics(Emission& e, std::size_t output, const Statistics* batch) {
  if (!batch) {
    e.give(output, e.tensor("running_mean"));
    return e.give(output + 1, e.tensor("running_var"));
  }
  const Ints axes = except_channel(e.rank("input"));
  const DType dtype = batch->mean.dtype;
  const double momentum = e.number("momentum");
  const auto moved = [&](const Value& statistic, std::string_view running) {
    return e.node("Add", {e.node("Mul", {e.build.squeeze(statistic, axes), e.scalar(dtype, momentum)}),
                          e.node("Mul", {e.tensor(running, dtype), e.scalar(dtype, 1 - momentum)})});
  };
  e.give(output, moved(batch->mean, "running_mean"));
  const Value count = element_count(e, "input", axes, dtype);
  const Value unbiased = e.node("Div", {count, e.node("Sub", {count, e.scalar(dtype, 1)})});
  e.give(output + 1, moved(e.node("Mul", {batch->variance, unbiased}), "running_var"));
}

// Normalizes with the batch's statistics; all other arguments are empty.
void native_batch_norm(Emission& e) {
  require_channels(e);
  const bool functional = e.call.op().ends_with("_functional");
  const std::size_t outputs = e.call.node().outputs().size() - (functional ? 2 : 0);
  for (std::size_t i = 3; i < outputs; ++i)
    if (e.output_used(i)) e.give(i, no_elements(e, e.output_dtype(i)));
  if (e.variant("running")) {
    e.give(0, by_running_statistics(e));
    for (std::size_t i = 1; i < std::min<std::size_t>(outputs, 3); ++i)
      if (e.output_used(i)) e.give(i, no_elements(e, e.output_dtype(i)));
    if (functional) give_running_statistics(e, outputs, nullptr);
    return;
  }
  const auto [result, statistics] = by_batch_statistics(e);
  const Ints axes = except_channel(e.rank("input"));
  e.give(0, result);
  if (e.output_used(1)) e.give(1, e.build.squeeze(statistics.mean, axes));
  if (e.output_used(2)) e.give(2, e.build.squeeze(one_over(e, statistics.deviation), axes));
  if (functional) give_running_statistics(e, outputs, &statistics);
}

void instance_norm(Emission& e) {
  if (e.variant("running")) return e.give(by_running_statistics(e));
  const DType dtype = compute_dtype(e);
  const std::int64_t rank = e.rank("input");
  if (dtype != DType::f64) {
    const Value x = e.tensor("input", dtype);
    return e.give(e.node("InstanceNormalization", {x, per_channel(e, "weight", 1, dtype), per_channel(e, "bias", 0, dtype)},
                         {{"epsilon", e.number("eps")}}));
  }
  Ints axes = all_axes(rank);
  axes.erase(axes.begin(), axes.begin() + 2);
  const Value x = e.tensor("input", dtype);
  e.give(applied(e, x, statistics_of(e, x, e.shape("input"), axes, e.number("eps")),
                 [&](const Value& vector) { return by_channel(e, vector, rank); }));
}

// ---- By last dimensions

Ints normalized_axes(Emission& e) {
  const std::int64_t rank = e.rank("input");
  const auto dims = e.call.list("normalized_shape");
  if (!dims) e.want("normalized_shape", "the length");
  Ints axes = all_axes(rank);
  axes.erase(axes.begin(), axes.end() - std::min<std::ptrdiff_t>(rank, static_cast<std::ptrdiff_t>(dims->size())));
  return axes;
}

void layer_norm(Emission& e) {
  const Ints axes = normalized_axes(e);
  const bool statistics = e.output_used(1) || e.output_used(2);
  const double epsilon = e.number("eps");
  if (e.variant("operator")) {
    const DType dtype = compute_dtype(e);
    Values inputs{e.tensor("input", dtype)};
    inputs.push_back(e.given("weight") ? e.tensor("weight", dtype) : filled(e, e.int_vector("normalized_shape"), dtype, 1));
    if (e.given("bias")) inputs.push_back(e.tensor("bias", dtype));
    const auto made = e.build.nodes("LayerNormalization", inputs, statistics ? 3 : 1,
                                    {{"axis", axes.front()}, {"epsilon", epsilon}}, DType::f32);
    for (std::size_t i = 0; i < made.size(); ++i) e.give(i, made[i]);
    return;
  }
  const Value x = widened(e, e.tensor("input"));
  const Statistics made = statistics_of(e, x, e.shape("input"), axes, epsilon);
  const Value even = e.node("Div", {e.node("Sub", {x, made.mean}), made.deviation});
  e.give(0, times_weight_plus_bias(e, even, [](const Value& same) { return same; }));
  if (e.output_used(1)) e.give(1, running(e, made.mean));
  if (e.output_used(2)) e.give(2, one_over(e, made.deviation));
}

void rms_norm(Emission& e) {
  const Ints axes = normalized_axes(e);
  const DType dtype = e.dtype("input");
  // Without eps it is the smallest step of the dtype in which PyTorch computes.
  const double epsilon = e.number("eps", dtype == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07);
  if (e.variant("operator")) {
    const Value scale = e.given("weight") ? e.tensor("weight", dtype) : filled(e, e.int_vector("normalized_shape"), dtype, 1);
    return e.give(e.node("RMSNormalization", {e.tensor("input"), scale}, {{"axis", axes.front()}, {"epsilon", epsilon}}));
  }
  const Value x = widened(e, e.tensor("input"));
  const Value square = mean(e, e.node("Mul", {x, x}), e.shape("input"), axes, true);
  const Value root = e.node("Sqrt", {e.node("Add", {square, e.scalar(x.dtype, epsilon)})});
  Value made = e.node("Div", {x, root});
  if (e.given("weight")) made = e.node("Mul", {made, e.tensor("weight", made.dtype)});
  e.give(made);
}

// ---- By groups of channels

// How many elements a batch has.
std::optional<std::int64_t> batch_elements(Emission& e) {
  std::optional<std::int64_t> count = 1;
  for (std::size_t i = 1; i < e.shape("input").size(); ++i) {
    const auto size = e.shape("input")[i].number();
    count = count && size ? std::optional(*count * *size) : std::nullopt;
  }
  return count;
}

// [batch, groups, the rest], which Reshape doesn't find out beside a batch of 0.
Value channels_in_groups(Emission& e, const Value& x, std::int64_t groups) {
  if (const auto count = batch_elements(e); count && *count > 0) return e.build.reshape(x, {0, groups, *count / groups});
  if (!minds_empty(e, e.shape("input"), all_axes(e.rank("input")))) return e.build.reshape(x, {0, groups, -1});
  Values sizes;
  for (std::int64_t axis = 1; axis < e.rank("input"); ++axis) sizes.push_back(e.size_of("input", axis));
  const Value rest = quotient(e, product_of(e, sizes), e.integers({groups}));
  return reshape_to(e, x, nullptr, nullptr, [&] { return joined(e, {e.size_of("input", 0), e.integers({groups}), rest}); });
}

Value ungrouped(Emission& e, const Value& x, const Value& grouped) {
  bool known = true;
  Ints dims{0};
  for (std::size_t i = 1; i < e.shape("input").size(); ++i) {
    const auto size = e.shape("input")[i].number();
    known = known && size && *size > 0;
    dims.push_back(size.value_or(0));
  }
  if (known) return e.build.reshape(grouped, dims);
  return reshape_to(e, grouped, nullptr, known_shape(e, "input"), [&] { return e.node("Shape", {x}); });
}

void group_norm_of(Emission& e, std::int64_t groups) {
  const std::int64_t rank = e.rank("input");
  const double epsilon = e.number("eps");
  const auto place = [&](const Value& vector) { return by_channel(e, vector, rank); };
  if (e.variant("operator")) {
    const DType dtype = compute_dtype(e);
    Arguments attributes{{"num_groups", groups}, {"epsilon", epsilon}};
    if (dtype == DType::f64) attributes.push_back({"stash_type", onnx::data_type(dtype)});  // otherwise the statistics are f32
    return e.give(
        0, e.node("GroupNormalization",
                  {e.tensor("input", dtype), per_channel(e, "weight", 1, dtype), per_channel(e, "bias", 0, dtype)}, attributes));
  }
  const Value x = widened(e, e.tensor("input"));
  const Value grouped = channels_in_groups(e, x, groups);
  if (e.variant("instance") && x.dtype != DType::f64) {
    const auto same = [&](double number) { return filled(e, e.integers({groups}), x.dtype, number); };
    const Value made = e.node("InstanceNormalization", {grouped, same(1), same(0)}, {{"epsilon", epsilon}});
    return e.give(0, times_weight_plus_bias(e, ungrouped(e, x, made), place));
  }
  const Statistics made = statistics_of(e, grouped, {1, 1, 1}, {2}, epsilon);
  if (e.output_used(1)) e.give(1, e.build.squeeze(running(e, made.mean), {2}));
  if (e.output_used(2)) e.give(2, e.build.squeeze(one_over(e, made.deviation), {2}));
  if (!e.given("weight") && !e.given("bias")) return e.give(0, ungrouped(e, x, applied(e, grouped, made, place)));
  const auto parted = [&](std::string_view argument, double otherwise) {
    return e.build.reshape(per_channel(e, argument, otherwise, x.dtype), {1, groups, -1});
  };
  Ints broadcast(static_cast<std::size_t>(rank), 1);
  broadcast[0] = 0, broadcast[1] = e.size("input", 1).value_or(-1);
  const Value scale = e.node("Mul", {parted("weight", 1), one_over(e, made.deviation)});
  const Value shift = e.node("Sub", {parted("bias", 0), e.node("Mul", {made.mean, scale})});
  e.give(0, e.node("Add", {e.node("Mul", {x, e.build.reshape(scale, broadcast)}), e.build.reshape(shift, broadcast)}));
}

void group_norm(Emission& e) { group_norm_of(e, e.integer("num_groups")); }
void native_group_norm(Emission& e) { group_norm_of(e, e.integer("group")); }

// ---- Weights as a direction and a length

// Returns the norm over all dimensions but one, kept as 1; over all with dim -1.
Value length_except(Emission& e, std::string_view tensor, double p) {
  const std::int64_t rank = e.rank(tensor), dim = e.integer("dim");
  if (dim == -1) return vector_norm(e, e.tensor(tensor), p, all_axes(rank), false);
  Ints axes = all_axes(rank);
  axes.erase(axes.begin() + e.wrap(dim, rank));
  return vector_norm(e, e.tensor(tensor), p, axes, true);
}

void weight_norm(Emission& e) {
  if (e.dtype("v") != e.dtype("g")) throw Refusal{"'v' and 'g' differ in their dtypes", "give both the same dtype"};
  const Value length = length_except(e, "v", 2);
  e.give(0, e.node("Mul", {e.tensor("v"), e.node("Div", {e.tensor("g"), length})}));
  if (e.output_used(1)) e.give(1, length);
}

void norm_except_dim(Emission& e) { e.give(length_except(e, "v", static_cast<double>(e.integer("pow")))); }

}  // namespace

void register_normalization(Registry& registry) {
  registry.handler("aten::batch_norm", batch_norm, {"running"});
  for (const char* op : {"aten::native_batch_norm", "aten::_native_batch_norm_legit_no_training", "aten::_batch_norm_no_update",
                         "aten::_batch_norm_impl_index", "aten::_native_batch_norm_legit_functional"})
    registry.handler(op, native_batch_norm, {"running"});
  for (const char* op :
       {"aten::_native_batch_norm_legit.no_stats", "aten::_batch_norm_with_update", "aten::_batch_norm_with_update_functional"})
    registry.handler(op, native_batch_norm);
  registry.handler("aten::instance_norm", instance_norm, {"running"});
  registry.handler("aten::layer_norm", layer_norm, {"operator"});
  registry.handler("aten::native_layer_norm", layer_norm, {"operator"});
  for (const char* op : {"aten::rms_norm", "aten::_fused_rms_norm"}) registry.handler(op, rms_norm, {"operator"});
  registry.handler("aten::group_norm", group_norm, {"instance", "operator"});
  registry.handler("aten::native_group_norm", native_group_norm, {"instance", "operator"});
  registry.handler("aten::_weight_norm", weight_norm);
  registry.handler("aten::_weight_norm_interface", weight_norm);
  registry.handler("aten::norm_except_dim", norm_except_dim);
}

}  // namespace compatcheck::handlers
