// Normalizations that also give their statistics: facts, and what PyTorch demands.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// Statistics are f32 where a narrow input meets f32 parameters.
std::optional<DType> statistics_dtype(const Call& call) {
  const auto input = call.dtype_of("input");
  if (!input || *input == DType::f32 || *input == DType::f64) return input;
  for (const char* parameter : {"weight", "bias", "running_mean", "running_var"}) {
    if (!call.has(parameter) || call.is_none(parameter)) continue;
    const auto dtype = call.dtype_of(parameter);
    if (!dtype) return std::nullopt;
    return dtype;
  }
  return input;
}

// (result, mean, 1/deviation), statistics of size 1 in the normalized dimensions.
Facts native_layer_norm(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  const auto normalized = call.list("normalized_shape");
  std::optional<Shape> statistics;
  if (input.shape && normalized && normalized->size() <= input.shape->size()) {
    statistics = input.shape;
    std::fill(statistics->end() - static_cast<std::ptrdiff_t>(normalized->size()), statistics->end(), Dim(1));
  }
  const Fact statistic = tensor_fact(statistics_dtype(call), statistics);
  return {like(input), statistic, statistic};
}

Facts native_group_norm(const Call& call) {
  const Fact statistic = tensor_fact(statistics_dtype(call),
                                     Shape{call.dim("N").value_or(Dim::unknown()), call.dim("group").value_or(Dim::unknown())});
  return {like(tensor_of(call, "input")), statistic, statistic};
}

// (result, mean, 1/deviation): the last two have one number for each channel in training, and are empty otherwise; perhaps
// more for the backward pass.
Facts native_batch_norm(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  const bool updates = call.op().starts_with("aten::_batch_norm_with_update"), keeps = call.op() == "aten::_batch_norm_no_update";
  const auto training = call.has("training") ? call.boolean("training") : std::optional(updates);
  std::optional<Shape> channels;
  if (training) channels = *training ? Shape{size_at(input, 1)} : Shape{0};
  const Fact statistic = tensor_fact(statistics_dtype(call), channels);
  Facts facts{like(input), statistic, statistic};
  const bool numbered = call.op() == "aten::_batch_norm_impl_index";
  if (updates || keeps || numbered) facts.push_back(tensor_fact(DType::u8, Shape{0}));
  if (numbered) facts.push_back(integer_fact(Dim::unknown()));
  if (call.op().ends_with("_functional"))
    for (const char* running : {"running_mean", "running_var"}) facts.push_back(like(tensor_of(call, running)));
  return facts;
}

// Returns the fact of a norm except in one dimension: size 1 in all other dimensions; a number with -1.
Fact length_except(const Call& call) {
  const TensorFact& v = tensor_of(call, "v");
  const auto dim = call.integer("dim");
  if (!v.shape || !dim) return tensor_fact(v.dtype, std::nullopt);
  if (*dim == -1 || v.shape->empty()) return tensor_fact(v.dtype, Shape{});
  Shape shape(v.shape->size(), 1);
  if (const auto kept = wrap_dim(*dim, shape.size())) shape[*kept] = (*v.shape)[*kept];
  return tensor_fact(v.dtype, std::move(shape));
}

Facts norm_except_dim(const Call& call) { return {length_except(call)}; }
Facts weight_norm(const Call& call) { return {like(tensor_of(call, "v"))}; }
Facts weight_and_norm(const Call& call) { return {like(tensor_of(call, "v")), length_except(call)}; }

// ---- Demands

Verdict groups_fit(const Call& call) {
  Demands demands;
  const bool native = call.has("group");
  const Dim groups = call.dim(native ? "group" : "num_groups").value_or(Dim::unknown());
  const TensorFact& input = tensor_of(call, "input");
  const Dim channels = native ? call.dim("C").value_or(Dim::unknown()) : size_at(input, 1);
  demands.multiple(channels, groups, "the number of channels");
  for (const char* parameter : {"weight", "bias"}) {
    if (call.is_none(parameter)) continue;
    demands.rank(call, parameter, 1, 1);
    demands.equal(size_at(tensor_of(call, parameter), 0), channels, "the length of " + std::string(parameter));
  }
  if (!native && input.shape && input.shape->size() < 2) demands.broken("the rank of input must be at least 2");
  if (native && input.shape)
    demands.equal(product(*input.shape),
                  call.dim("N").value_or(Dim::unknown()) * channels * call.dim("HxW").value_or(Dim::unknown()),
                  "the number of elements of input");
  return demands.verdict();
}

// One number of each channel.
Verdict channels_fit(const Call& call) {
  Demands demands;
  const TensorFact& input = tensor_of(call, "input");
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    if (!call.has(name) || call.is_none(name)) continue;
    demands.rank(call, name, 1, 1);
    demands.equal(size_at(tensor_of(call, name), 0), size_at(input, 1), "the length of " + std::string(name));
  }
  return demands.verdict();
}

// The sizes of the last dimensions.
Verdict normalized_shape_fits(const Call& call) {
  Demands demands;
  const auto normalized = call.dims("normalized_shape");
  if (!normalized) return demands.verdict();
  if (normalized->empty()) demands.broken("normalized_shape can't be empty");
  for (const char* name : {"input", "weight", "bias"}) {
    const TensorFact& tensor = tensor_of(call, name);
    if (!tensor.shape) continue;
    const std::size_t rank = tensor.shape->size(), count = normalized->size();
    if (rank < count) demands.broken(std::string(name) + " has fewer dimensions than normalized_shape");
    if (name != std::string_view("input")) demands.rank(call, name, count, count);
    for (std::size_t i = 0; i < count && rank >= count; ++i)
      demands.equal((*tensor.shape)[rank - count + i], (*normalized)[i],
                    "dimension " + std::to_string(rank - count + i) + " of " + name);
  }
  return demands.verdict();
}

}  // namespace

void register_normalization(Registry& registry) {
  registry.facts("aten::native_layer_norm", native_layer_norm);
  registry.facts("aten::native_group_norm", native_group_norm);
  registry.condition("groups_fit", groups_fit);
  registry.condition("channels_fit", channels_fit);
  registry.condition("normalized_shape_fits", normalized_shape_fits);
  for (const char* op :
       {"aten::native_batch_norm", "aten::_native_batch_norm_legit", "aten::_native_batch_norm_legit_no_training",
        "aten::_native_batch_norm_legit_functional", "aten::_batch_norm_with_update", "aten::_batch_norm_with_update_functional",
        "aten::_batch_norm_no_update", "aten::_batch_norm_impl_index"})
    registry.facts(op, native_batch_norm);
  registry.facts("aten::_weight_norm", weight_norm);
  registry.facts("aten::_weight_norm_interface", weight_and_norm);
  registry.facts("aten::norm_except_dim", norm_except_dim);
}

}  // namespace compatcheck::symbolic
