// Writing at computed positions: facts and conditions.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/indexing.h"

namespace compatcheck::symbolic {
namespace {

Facts scattered(const Call& call) {
  demand_index_fits(call);
  return like_self(call);
}

Facts index_put(const Call& call) {
  const auto given = call.list("indices");
  const auto place = given ? indexed_shape(self_of(call), *given) : std::nullopt;
  if (place) demand_broadcast(tensor_of(call, "values").shape, *place, "'values'");
  return like_self(call);
}

// A slice of `source` for each index; one number may go to one.
Facts written_slices(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto &index = tensor_of(call, "index").shape, &source = tensor_of(call, "source").shape;
  Demands demands;
  demands.rank(call, "index", 0, 1);
  demands.hold();
  const auto dim = dim_index(call, "dim", self);
  if (source && source->empty() && index) demands.equal(product(*index), 1, "the number of indices of one number");
  demands.hold();
  if (!dim || self.shape->empty() || !source || source->empty()) return like_self(call);
  demands.rank(call, "source", self.shape->size(), self.shape->size());
  for (std::size_t i = 0; i < source->size() && source->size() == self.shape->size(); ++i)
    demands.equal((*source)[i],
                  i != *dim ? (*self.shape)[i]
                  : index   ? product(*index)
                            : Dim::unknown(),
                  "dimension " + std::to_string(i) + " of source");
  demands.hold();
  return like_self(call);
}

// An element of `source` for each index.
Facts put(const Call& call) {
  const auto &index = tensor_of(call, "index").shape, &source = tensor_of(call, "source").shape;
  Demands demands;
  if (index && source) demands.equal(product(*source), product(*index), "the number of elements of source");
  demands.hold();
  return like_self(call);
}

// The mask may stretch self.
Facts masked(const Call& call) {
  return {tensor_fact(self_of(call).dtype, broadcast(self_of(call).shape, tensor_of(call, "mask").shape))};
}

// A single mask over one number: masked elements become that number.
Verdict one_number_by_mask(const Call& call) {
  const auto no = [](std::string why) { return Verdict{.truth = Truth::no, .message = std::move(why)}; };
  const auto unknown = [&](std::string_view argument, std::string why) {
    const Fact& fact = call.fact(argument);
    return Verdict{.truth = Truth::unknown, .message = std::move(why), .wants = fact.wants, .blame = fact.blame};
  };
  const auto given = call.list("indices");
  if (!given) return unknown("indices", "how many indices there are isn't known");
  const Fact* only = nullptr;
  for (const Fact* fact : *given) {
    if (fact->is_none()) continue;
    if (only) return no("there are several indices");
    only = fact;
  }
  const auto* mask = only ? only->tensor() : nullptr;
  if (!only || (mask && mask->dtype && !is_mask(*mask->dtype))) return no("no mask tells the places");
  if (call.boolean("accumulate").value_or(true)) return no("values are added");
  if (!mask || !mask->dtype || !mask->shape) return unknown("indices", "the rank of an index isn't known");
  if (mask->shape->empty()) return no("the mask has no dimensions");
  const TensorFact& values = tensor_of(call, "values");
  if (!values.shape) return unknown("values", "the shape of 'values' isn't known");
  if (product(*values.shape).number() != 1) return no("there are several values");
  return {.truth = Truth::yes};
}

// A number that a mask alone puts may be of any dtype: PyTorch fills with it.
Verdict put_values_have_dtype(const Call& call) {
  if (one_number_by_mask(call).truth != Truth::no) return {.truth = Truth::yes};
  Demands demands;
  demands.one_dtype(call, {"self", "values"});
  return demands.verdict();
}

}  // namespace

void register_scatter(Registry& registry) {
  for (const char* op : {"aten::index_put", "aten::_unsafe_index_put", "aten::_index_put_impl"}) registry.facts(op, index_put);
  for (const char* op : {"aten::_unsafe_masked_index_put_accumulate", "aten::index_fill"}) registry.facts(op, like_self);
  registry.facts("aten::put", put);
  for (const char* op : {"aten::scatter", "aten::scatter_add", "aten::scatter_reduce"}) registry.facts(op, scattered);
  for (const char* op : {"aten::index_copy", "aten::index_add", "aten::index_reduce"}) registry.facts(op, written_slices);
  for (const char* op : {"aten::masked_fill", "aten::masked_scatter"}) registry.facts(op, masked);
  registry.condition("one_number_by_mask", one_number_by_mask);
  registry.condition("put_values_have_dtype", put_values_have_dtype);
}

}  // namespace compatcheck::symbolic
