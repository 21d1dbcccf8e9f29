// What PyTorch demands of the dtypes of a call's tensors together, where it doesn't promote them. Learnt from its CPU kernels.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Verdict of_one_dtype(const Call& call, std::initializer_list<std::string_view> arguments) {
  Demands demands;
  demands.one_dtype(call, arguments);
  return demands.verdict();
}

// All but `out`.
Verdict one_dtype(const Call& call) {
  Demands demands;
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i)
    if (!arguments[i].keyword_only) demands.one_dtype(call.input(i), arguments[i].name);
  return demands.verdict();
}

// What is written is of the dtype of what it is written to.
Verdict source_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "src", "source", "values"}); }

// The rest, a bias for example, may differ.
Verdict weight_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "input", "weight", "per_sample_weights"}); }

Verdict target_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "target"}); }

Verdict keys_have_dtype(const Call& call) { return of_one_dtype(call, {"query", "key", "value"}); }

// A narrow input may come with parameters in f32, all of them.
Verdict parameters_have_dtype(const Call& call) {
  constexpr std::string_view parameters[] = {"weight", "bias", "running_mean", "running_var"};
  const auto input = call.dtype_of("input");
  const auto wide = [&](std::string_view name) {
    return call.is_none(name) || !call.dtype_of(name) || call.dtype_of(name) == DType::f32;
  };
  const bool widened = (input == DType::f16 || input == DType::bf16) && std::ranges::all_of(parameters, wide);
  Demands demands;
  if (!widened) demands.one_dtype(call, {"input"});
  for (const std::string_view parameter : parameters) demands.one_dtype(call, {parameter});
  return demands.verdict();
}

// The matrices of recurrent layers and what they multiply. Biases and the cell's state may differ.
Verdict matrices_have_dtype(const Call& call) {
  Demands demands;
  demands.one_dtype(call, {"input", "data", "w_ih", "w_hh"});
  const auto states = call.list("hx"), weights = call.list("params");
  if (states && !states->empty())
    demands.one_dtype(*states->front(), "hx");
  else
    demands.one_dtype(call, {"hx"});
  if (!weights) return demands.verdict();
  for (const Fact* weight : *weights)
    if (const auto* tensor = weight->tensor(); tensor && tensor->shape && tensor->shape->size() == 2)
      demands.one_dtype(*weight, "params");
  return demands.verdict();
}

}  // namespace

void register_dtypes(Registry& registry) {
  registry.condition("one_dtype", one_dtype);
  registry.condition("source_has_dtype", source_has_dtype);
  registry.condition("weight_has_dtype", weight_has_dtype);
  registry.condition("target_has_dtype", target_has_dtype);
  registry.condition("keys_have_dtype", keys_have_dtype);
  registry.condition("parameters_have_dtype", parameters_have_dtype);
  registry.condition("matrices_have_dtype", matrices_have_dtype);
}

}  // namespace compatcheck::symbolic
