// Pooling: facts, conditions, and what PyTorch demands.
#include "symbolic/pooling.h"

#include <algorithm>

#include "symbolic/convolution.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// Rounded up, but no window begins in the padding at the end.
Dim ceil_count(const Dim& size, const Dim& kernel, const Dim& stride, const Dim& padding, const Dim& dilation) {
  const Dim exact = window_count(size, kernel, stride, padding, dilation);
  if (stride.number() == 1) return exact;
  const Dim rounded = ceil_div(size + Dim(2) * padding - dilation * (kernel - Dim(1)) - Dim(1), stride) + Dim(1);
  const Dim last_start = (rounded - Dim(1)) * stride - size - padding;
  if (provably_equal(exact, rounded)) return exact;
  if (!last_start.is_number()) return Dim::unknown();
  return *last_start.number() >= 0 ? rounded - Dim(1) : rounded;
}

struct Pool {
  Shape kernel, stride, padding, dilation;  // one member for each pooled dimension
  std::optional<bool> ceil;
};

// Without a stride windows lie side by side.
Pool pool_of(const Call& call, std::size_t dims) {
  const auto kernel = call.dims("kernel_size"), stride = call.dims("stride");
  const bool side_by_side = call.is_none("stride") || (stride && stride->empty());
  return {.kernel = sizes_of(kernel, dims),
          .stride = sizes_of(side_by_side ? kernel : stride, dims),
          .padding = sizes_of(call.dims("padding"), dims),
          .dilation = call.has("dilation") ? sizes_of(call.dims("dilation"), dims) : Shape(dims, 1),
          .ceil = call.boolean("ceil_mode")};
}

}  // namespace

std::optional<Shape> pooled(const Call& call, const TensorFact& self, std::size_t dims) {
  if (!self.shape || self.shape->size() < dims) return std::nullopt;
  const Pool pool = pool_of(call, dims);
  Shape shape = *self.shape;
  for (std::size_t i = 0; i < dims; ++i) {
    Dim& size = shape[shape.size() - dims + i];
    const auto count = pool.ceil && *pool.ceil ? ceil_count : window_count;
    size = pool.ceil ? count(size, pool.kernel[i], pool.stride[i], pool.padding[i], pool.dilation[i]) : Dim::unknown();
  }
  return shape;
}

namespace {

template <std::size_t dims>
Facts pool(const Call& call) {
  return {tensor_fact(self_of(call).dtype, pooled(call, self_of(call), dims))};
}

template <std::size_t dims>
Facts pool_with_indices(const Call& call) {
  const auto shape = pooled(call, self_of(call), dims);
  return {tensor_fact(call.dtype_of("self"), shape), tensor_fact(DType::i64, shape)};
}

// The last dimensions become `output_size`.
template <std::size_t dims>
std::optional<Shape> adapted(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape || self.shape->size() < dims) return std::nullopt;
  Shape shape = *self.shape;
  const Shape sizes = sizes_of(call.dims("output_size"), dims);
  for (std::size_t i = 0; i < dims; ++i) shape[shape.size() - dims + i] = sizes[i];
  return shape;
}

template <std::size_t dims>
Facts adaptive(const Call& call) {
  return {tensor_fact(call.dtype_of("self"), adapted<dims>(call))};
}

template <std::size_t dims>
Facts adaptive_with_indices(const Call& call) {
  const auto shape = adapted<dims>(call);
  return {tensor_fact(call.dtype_of("self"), shape), tensor_fact(DType::i64, shape)};
}

// "1d", "2d" or "3d" stands in the name.
std::optional<std::size_t> pooled_dims(const Call& call) {
  const auto digit = call.op().find_last_of("123");
  return digit == std::string_view::npos ? std::nullopt : std::optional(static_cast<std::size_t>(call.op()[digit] - '0'));
}

// Whether each pooled dimension is a multiple of its output size, so that all windows have one size. Sizes must be known,
// unless every output size is 1.
Verdict adaptive_output_divides(const Call& call) {
  const auto dims = pooled_dims(call);
  const Fact& self = call.fact("self");
  const TensorFact& tensor = self_of(call);
  const auto given = call.dims("output_size");
  const auto open = [](const Fact& fact, std::string message) {
    return Verdict{.truth = Truth::unknown, .message = std::move(message), .wants = fact.wants, .blame = fact.blame};
  };
  if (!dims || !given) return open(call.fact("output_size"), "output_size isn't known");
  if (!tensor.shape || tensor.shape->size() < *dims)
    return open(self, "the sizes of self aren't known, and must be multiples of output_size");
  const auto output_sizes = sizes_of(given, *dims);
  const bool whole = std::ranges::all_of(output_sizes, [](const Dim& size) { return size.number() == 1; });
  Verdict verdict{.truth = Truth::yes};
  for (std::size_t i = 0; i < *dims; ++i) {
    const Dim& size = (*tensor.shape)[tensor.shape->size() - *dims + i];
    const std::string name = "dimension " + std::to_string(tensor.shape->size() - *dims + i) + " of self";
    const auto output = output_sizes[i].number();
    if (output == 0) return {.truth = Truth::no, .message = "output_size can't be 0"};
    if (whole || provably_equal(size, output_sizes[i])) continue;
    const bool divides = modulo(size, output_sizes[i]).number() == 0;
    if (divides && size.number().value_or(0) != 0) continue;
    const Fact& source = output_sizes[i].is_number() ? self : call.fact("output_size");
    const bool can_be_stated =
        !divides && (size.is_unknown() || output_sizes[i].is_unknown()) && (!source.wants.empty() || source.blame);
    const std::string must = name + " must be a multiple of output_size " + output_sizes[i].to_string() + ", but is ";
    if (!can_be_stated) return {.truth = Truth::no, .message = must + size.to_string()};
    if (verdict.truth == Truth::yes) verdict = open(source, must + "unknown");
  }
  return verdict;
}

// Whether the pooled sizes are known, so that windows can be placed while converting.
Verdict pooled_sizes_known(const Call& call) {
  const auto dims = pooled_dims(call), rank = call.rank("self");
  return sizes_known(call.fact("self"), "self", rank && dims ? *rank - std::min(*dims, *rank) : 0, rank.value_or(0));
}

// No window, rounded up, could begin in the padding at the end.
bool begin_inside(const Call& call) {
  const auto dims = pooled_dims(call);
  if (!dims) return false;
  const Pool pool = pool_of(call, *dims);
  for (std::size_t i = 0; i < *dims; ++i)
    if (!provably_at_least(pool.dilation[i] * (pool.kernel[i] - Dim(1)) + Dim(1) - pool.padding[i] - pool.stride[i], 0))
      return false;
  return true;
}

// Only rounding up needs them, where a window could begin in the padding.
Verdict ceil_sizes_known(const Call& call) {
  return call.boolean("ceil_mode") == false || begin_inside(call) ? Verdict{.truth = Truth::yes} : pooled_sizes_known(call);
}

// Rounding up adds less than a stride of padding at the end; runtimes take none as wide as the kernel.
Verdict ceil_padding_narrow(const Call& call) {
  const auto dims = pooled_dims(call);
  if (call.boolean("ceil_mode") == false || !dims) return {.truth = Truth::yes};
  const Pool pool = pool_of(call, *dims);
  for (std::size_t i = 0; i < *dims; ++i)
    if (!provably_at_least(pool.kernel[i] - pool.padding[i] - pool.stride[i], 0))
      return {.truth = Truth::no, .message = "padding may be as wide as the kernel"};
  return {.truth = Truth::yes};
}

// One window over the whole image, whose sizes only the model knows.
Verdict pool_is_whole(const Call& call) {
  const auto dims = pooled_dims(call);
  const TensorFact& self = self_of(call);
  const Verdict no{.truth = Truth::no, .message = "windows aren't proved to be the whole image"};
  if (!dims || !self.shape || self.shape->size() < *dims) return no;
  const Pool pool = pool_of(call, *dims);
  bool open = false;
  for (std::size_t i = 0; i < *dims; ++i) {
    const Dim& size = (*self.shape)[self.shape->size() - *dims + i];
    if (!provably_equal(pool.kernel[i], size) || pool.padding[i].number() != 0 || pool.dilation[i].number() != 1) return no;
    open = open || !size.is_number();
  }
  return open ? Verdict{.truth = Truth::yes} : no;
}

// ---- Demands

void demand_result(Demands& demands, const Call& call, std::size_t dims, std::int64_t least) {
  const auto* result = call.facts().of(call.node().output(0)).tensor();
  if (!result || !result->shape) return;
  const Shape& shape = *result->shape;
  for (std::size_t i = shape.size() - std::min(dims, shape.size()); i < shape.size(); ++i)
    demands.at_least(shape[i], least, "dimension " + std::to_string(i) + " of the result");
}

Verdict pool_fits(const Call& call) {
  Demands demands;
  const auto dims = pooled_dims(call);
  if (!dims) return demands.verdict();
  demands.rank(call, "self", *dims + 1, *dims + 2);
  for (const char* list : {"kernel_size", "padding", "dilation"}) demands.length(call, list, *dims);
  if (const auto stride = call.list("stride"); stride && !stride->empty()) demands.length(call, "stride", *dims);
  const Pool pool = pool_of(call, *dims);
  for (std::size_t i = 0; i < *dims; ++i)
    demands.at_most(pool.padding[i], floor_div(pool.dilation[i] * (pool.kernel[i] - Dim(1)) + Dim(1), 2), "padding");
  demand_result(demands, call, *dims, 1);
  if (const TensorFact& self = self_of(call); call.op() == "aten::avg_pool3d" && self.shape && self.shape->size() >= *dims)
    for (std::size_t i = 0; i < *dims; ++i)
      demands.at_most(pool.kernel[i], self.shape->end()[static_cast<std::ptrdiff_t>(i) - 3], "kernel_size");
  return demands.verdict();
}

// One for each element.
void demand_indices(Demands& demands, const Call& call) {
  const TensorFact &self = self_of(call), &indices = tensor_of(call, "indices");
  if (!self.shape || !indices.shape) return;
  demands.rank(call, "indices", self.shape->size(), self.shape->size());
  for (std::size_t i = 0; i < std::min(self.shape->size(), indices.shape->size()); ++i)
    demands.equal((*indices.shape)[i], (*self.shape)[i], "dimension " + std::to_string(i) + " of indices");
}

// Checks the sizes of pools to a size, and of unpooling.
Verdict pooled_size_fits(const Call& call) {
  Demands demands;
  const auto dims = pooled_dims(call);
  if (!dims) return demands.verdict();
  demands.rank(call, "self", *dims + 1, *dims + 2);
  if (const auto size = call.list("output_size"); size && size->size() != *dims)
    demands.broken("the length of output_size must be " + std::to_string(*dims));
  demand_result(demands, call, *dims, 0);
  if (call.has("indices")) demand_indices(demands, call);
  return demands.verdict();
}

}  // namespace

void register_pooling(Registry& registry) {
  registry.facts("aten::max_pool1d", pool<1>);
  registry.facts("aten::max_pool2d", pool<2>);
  registry.facts("aten::max_pool3d", pool<3>);
  registry.facts("aten::max_pool1d_with_indices", pool_with_indices<1>);
  registry.facts("aten::max_pool2d_with_indices", pool_with_indices<2>);
  registry.facts("aten::max_pool3d_with_indices", pool_with_indices<3>);
  registry.facts("aten::avg_pool1d", pool<1>);
  registry.facts("aten::avg_pool2d", pool<2>);
  registry.facts("aten::avg_pool3d", pool<3>);
  registry.facts("aten::adaptive_avg_pool1d", adaptive<1>);
  registry.facts("aten::adaptive_avg_pool2d", adaptive<2>);
  registry.facts("aten::adaptive_avg_pool3d", adaptive<3>);
  registry.facts("aten::_adaptive_avg_pool2d", adaptive<2>);
  registry.facts("aten::_adaptive_avg_pool3d", adaptive<3>);
  registry.facts("aten::adaptive_max_pool1d", adaptive_with_indices<1>);
  registry.facts("aten::adaptive_max_pool2d", adaptive_with_indices<2>);
  registry.facts("aten::adaptive_max_pool3d", adaptive_with_indices<3>);
  registry.facts("aten::fractional_max_pool2d", adaptive_with_indices<2>);
  registry.facts("aten::fractional_max_pool3d", adaptive_with_indices<3>);
  registry.facts("aten::max_unpool2d", adaptive<2>);
  registry.facts("aten::max_unpool3d", adaptive<3>);
  registry.condition("adaptive_output_divides", adaptive_output_divides);
  registry.condition("pooled_sizes_known", pooled_sizes_known);
  registry.condition("ceil_sizes_known", ceil_sizes_known);
  registry.condition("ceil_padding_narrow", ceil_padding_narrow);
  registry.condition("pool_is_whole", pool_is_whole);
  registry.condition("pool_fits", pool_fits);
  registry.condition("pooled_size_fits", pooled_size_fits);
}

}  // namespace compatcheck::symbolic
