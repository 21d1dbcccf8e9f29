// Norms and deviations: facts, and what their nodes follow from.
#include <algorithm>
#include <cmath>

#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/reduction.h"

namespace compatcheck::symbolic {
namespace {

// Lengths of vectors and matrices: real, of the requested dtype.
Facts norm(const Call& call) {
  return {tensor_fact(as_real(dtype_or(call, as_float(self_of(call).dtype))), reduced_sizes(call))};
}

Facts variance(const Call& call) { return {tensor_fact(as_real(self_of(call).dtype), reduced_sizes(call))}; }

Facts variance_and_mean(const Call& call) {
  const auto shape = reduced_sizes(call);
  return {tensor_fact(as_real(self_of(call).dtype), shape), tensor_fact(self_of(call).dtype, shape)};
}

// Along dimensions of size 1 alone.
Verdict reduces_one(const Call& call) {
  const auto sizes = sizes_to_reduce(call);
  bool one = sizes && std::ranges::all_of(*sizes, [](const Dim& size) { return size.number() == 1; });
  // A tensor without dimensions that names one is raised to the power.
  const auto order = call.has("ord") ? call.number("ord") : call.has("p") ? call.number("p") : std::nullopt;
  if (one && self_of(call).shape->empty() && !call.is_none("dim") && !call.ints("dim")->empty())
    one = !order || *order == 1 || *order == 2 || std::isinf(*order);
  return {.truth = one ? Truth::yes : Truth::no};
}

}  // namespace

void register_norm_reduction(Registry& registry) {
  for (const char* op : {"aten::norm", "aten::linalg_vector_norm", "aten::native_norm", "aten::frobenius_norm",
                         "aten::linalg_matrix_norm", "aten::linalg_norm"})
    registry.facts(op, norm);
  for (const char* op : {"aten::var", "aten::std"}) registry.facts(op, variance);
  for (const char* op : {"aten::var_mean", "aten::std_mean"}) registry.facts(op, variance_and_mean);
  registry.condition("reduces_one", reduces_one);
}

}  // namespace compatcheck::symbolic
