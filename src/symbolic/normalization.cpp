// Normalizations that also give their statistics, softmax, dropout with its mask: facts.
#include <algorithm>

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
  const Fact statistic = tensor_fact(statistics_dtype(call), Shape{call.dim("N").value_or(Dim::unknown()), call.dim("group").value_or(Dim::unknown())});
  return {like(tensor_of(call, "input")), statistic, statistic};
}

// (result, mean, 1/deviation), a number a channel when training, empty else; perhaps more that backward wants.
Facts native_batch_norm(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  const bool saved = !call.has("training") || call.op() == "aten::_batch_norm_with_update";
  const auto training = saved ? std::optional(true) : call.boolean("training");
  std::optional<Shape> channels;
  if (training) channels = *training ? Shape{size_at(input, 1)} : Shape{0};
  const Fact statistic = tensor_fact(statistics_dtype(call), channels);
  Facts facts{like(input), statistic, statistic};
  if (call.op() == "aten::_batch_norm_with_update") facts.push_back(tensor_fact(DType::u8, Shape{0}));
  return facts;
}

Facts weight_norm(const Call& call) { return {like(tensor_of(call, "v"))}; }

Facts softmax(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  if (!call.has("half_to_float")) return {tensor_fact(dtype_or(call, self.dtype), self.shape)};
  const auto widen = call.boolean("half_to_float");
  return {tensor_fact(widen ? (*widen ? std::optional(DType::f32) : self.dtype) : std::nullopt, self.shape)};
}

Facts native_dropout(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  return {like(input), tensor_fact(DType::boolean, input.shape)};
}

}  // namespace

void register_normalization(Registry& registry) {
  registry.facts("aten::native_layer_norm", native_layer_norm);
  registry.facts("aten::native_group_norm", native_group_norm);
  for (const char* op : {"aten::native_batch_norm", "aten::_native_batch_norm_legit", "aten::_native_batch_norm_legit_no_training",
                         "aten::_batch_norm_with_update"})
    registry.facts(op, native_batch_norm);
  registry.facts("aten::_weight_norm", weight_norm);
  for (const char* op : {"aten::softmax", "aten::log_softmax", "aten::_softmax", "aten::_log_softmax", "aten::_safe_softmax"})
    registry.facts(op, softmax);
  registry.facts("aten::native_dropout", native_dropout);
}

}  // namespace compatcheck::symbolic
