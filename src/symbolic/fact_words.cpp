// The rule words of `facts:` in the tables (docs/mappings.md).
#include "symbolic/fact_words.h"

#include <algorithm>

#include "symbolic/families.h"
#include "symbolic/pointwise.h"
#include "symbolic/promotion.h"
#include "symbolic/reduction.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

std::optional<Shape> shape_of(const TensorFact* tensor) { return tensor ? tensor->shape : std::nullopt; }
std::optional<DType> dtype_of(const TensorFact* tensor) { return tensor ? tensor->dtype : std::nullopt; }

std::optional<DType> as_sum(std::optional<DType> dtype) {
  if (dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean)) return DType::i64;
  return dtype;
}

Facts same_as_first(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {tensor_fact(dtype_of(tensor), shape_of(tensor))};
}

Facts same_float(const Call& call) {
  const auto* tensor = first_tensor(call);
  const auto dtype = dtype_of(tensor);
  return {tensor_fact(dtype && ir::is_quantized(*dtype) ? dtype : as_float(dtype), shape_of(tensor))};
}

Facts test(const Call& call) { return {tensor_fact(DType::boolean, shape_of(first_tensor(call)))}; }

Facts pointwise(const Call& call) { return {pointwise_fact(call, pointwise_operands(call))}; }

Facts pointwise_float(const Call& call) {
  auto operands = pointwise_operands(call);
  operands.dtype = as_float(operands.dtype);
  return {pointwise_fact(call, std::move(operands))};
}

Facts comparison(const Call& call) { return {tensor_fact(DType::boolean, pointwise_operands(call).shape)}; }

Facts reduce(const Call& call) { return {tensor_fact(dtype_or(call, dtype_of(first_tensor(call))), reduced_sizes(call))}; }
Facts reduce_sum(const Call& call) {
  return {tensor_fact(dtype_or(call, as_sum(dtype_of(first_tensor(call)))), reduced_sizes(call))};
}
Facts reduce_float(const Call& call) {
  return {tensor_fact(dtype_or(call, as_float(dtype_of(first_tensor(call)))), reduced_sizes(call))};
}
// The result of u8 is u8, which stood for bool before there was one.
Facts reduce_bool(const Call& call) {
  const auto dtype = dtype_of(first_tensor(call));
  return {
      tensor_fact(!dtype ? std::nullopt : std::optional(*dtype == DType::u8 ? DType::u8 : DType::boolean), reduced_sizes(call))};
}
Facts reduce_index(const Call& call) { return {tensor_fact(DType::i64, reduced_sizes(call))}; }

Facts scan_sum(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {tensor_fact(dtype_or(call, as_sum(dtype_of(tensor))), shape_of(tensor))};
}

// ---- What PyTorch demands

// One size in each dimension, or 1.
Verdict broadcast_fits(const Call& call) {
  Shape whole;
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i) {
    const auto* tensor = call.input(i).tensor();
    if (!tensor || !tensor->shape || arguments[i].keyword_only) continue;  // `out`
    const Shape& shape = *tensor->shape;
    if (shape.size() > whole.size()) whole.insert(whole.begin(), shape.size() - whole.size(), Dim(1));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Dim& size = whole[whole.size() - shape.size() + axis];
      if (size.number() != 1 && shape[axis].number() != 1 && provably_different(size, shape[axis]))
        return {.truth = Truth::no,
                .message = "sizes " + size.to_string() + " and " + shape[axis].to_string() + " don't broadcast"};
      size = broadcast_dim(size, shape[axis]);
    }
  }
  return {.truth = Truth::yes};
}

// Each once.
Verdict dims_exist(const Call& call) {
  const auto* tensor = first_tensor(call);
  const auto dims = call.is_none("dim") ? std::nullopt : call.ints("dim");
  if (!tensor || !tensor->shape || !dims) return {.truth = Truth::yes};
  std::vector<std::size_t> seen;
  for (const std::int64_t dim : *dims) {
    const auto index = wrap_dim(dim, tensor->shape->size());
    if (!index)
      return {
          .truth = Truth::no,
          .message = "dimension " + std::to_string(dim) + " is out of range for rank " + std::to_string(tensor->shape->size())};
    if (std::find(seen.begin(), seen.end(), *index) != seen.end())
      return {.truth = Truth::no, .message = "dimension " + std::to_string(dim) + " is given twice"};
    seen.push_back(*index);
  }
  return {.truth = Truth::yes};
}

}  // namespace

void register_words(Registry& registry) {
  registry.condition("operands_broadcast", broadcast_fits);
  registry.fact_word("same", same_as_first);
  registry.fact_word("same_float", same_float);
  registry.fact_word("pointwise", pointwise, broadcast_fits);
  registry.fact_word("pointwise_float", pointwise_float, broadcast_fits);
  registry.fact_word("comparison", comparison, broadcast_fits);
  registry.fact_word("test", test);
  registry.fact_word("reduce", reduce, dims_exist);
  registry.fact_word("reduce_sum", reduce_sum, dims_exist);
  registry.fact_word("reduce_float", reduce_float, dims_exist);
  registry.fact_word("reduce_bool", reduce_bool, dims_exist);
  registry.fact_word("reduce_index", reduce_index, dims_exist);
  registry.fact_word("scan_sum", scan_sum, dims_exist);
}

std::vector<std::string_view> words_of_results(std::string_view facts) {
  std::vector<std::string_view> words;
  std::size_t from = 0;
  int depth = 0;  // in brackets
  for (std::size_t at = 0; at <= facts.size(); ++at) {
    const char c = at < facts.size() ? facts[at] : ',';
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c != ',' || depth > 0) continue;
    words.push_back(facts.substr(from, at - from));
    from = std::min(at + 2, facts.size());
  }
  return words;
}

}  // namespace compatcheck::symbolic
