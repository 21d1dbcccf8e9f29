// Reductions that no rule word says, and order along a dimension: facts.
#include <algorithm>
#include <cmath>

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

const TensorFact& self_of(const Call& call) { return tensor_of(call, call.has("self") ? "self" : "input"); }

std::optional<DType> as_float(std::optional<DType> dtype) { return dtype ? std::optional(to_float(*dtype)) : std::nullopt; }
std::optional<DType> as_real(std::optional<DType> dtype) { return dtype ? std::optional(real_part(*dtype)) : std::nullopt; }

// `dim` (absent, None or empty: all) and `keepdim`.
std::optional<Shape> reduced(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto keep = call.has("keepdim") ? call.boolean("keepdim") : std::optional(false);
  if (!self.shape || !keep) return std::nullopt;
  if (call.is_none("dim")) return reduce_shape(*self.shape, std::nullopt, *keep);
  const auto dims = call.ints("dim");
  if (!dims) return std::nullopt;
  return reduce_shape(*self.shape, dims->empty() ? std::nullopt : dims, *keep);
}

// Nothing has no greatest element.
Verdict has_extremes(const Call& call) {
  Demands demands;
  const TensorFact& self = self_of(call);
  if (!self.shape || call.has("other")) return demands.verdict();
  const auto dims = !call.has("dim") || call.is_none("dim") ? std::nullopt : call.ints("dim");
  if (call.has("dim") && !call.is_none("dim") && !dims) return demands.verdict();
  const auto is_empty = [](const Dim& size) { return size.number() == 0; };
  bool nothing = (!dims || dims->empty()) && std::ranges::any_of(*self.shape, is_empty);
  if (dims)
    for (const std::int64_t dim : *dims)
      if (const auto at = wrap_dim(dim, self.shape->size()); at && *at < self.shape->size())
        nothing |= is_empty((*self.shape)[*at]);
  if (nothing) demands.broken("a dimension of self that is reduced has no elements");
  return demands.verdict();
}

// Lengths of vectors and matrices: real, of the dtype asked for.
Facts norm(const Call& call) { return {tensor_fact(as_real(dtype_or(call, as_float(self_of(call).dtype))), reduced(call))}; }

Facts matrix_value(const Call& call) {  // without two dimensions: of matrices
  const TensorFact& self = self_of(call);
  const auto dtype = as_real(as_float(self.dtype));
  if (!self.shape || self.shape->size() < 2) return {tensor_fact(dtype, std::nullopt)};
  return {tensor_fact(dtype, Shape(self.shape->begin(), self.shape->end() - 2))};
}

Facts spread_of_values(const Call& call) { return {tensor_fact(as_real(self_of(call).dtype), reduced(call))}; }

Facts spread_and_mean(const Call& call) {
  const auto shape = reduced(call);
  return {tensor_fact(as_real(self_of(call).dtype), shape), tensor_fact(self_of(call).dtype, shape)};
}

Facts pair_of_values(const Call& call) {
  const auto shape = reduced(call);
  return {tensor_fact(self_of(call).dtype, shape), tensor_fact(self_of(call).dtype, shape)};
}

// (values, indices) of a reduction; without `dim` in the overload only the value.
Facts values_and_indices(const Call& call) {
  const auto shape = reduced(call);
  if (!call.has("dim")) return {tensor_fact(self_of(call).dtype, shape)};
  return {tensor_fact(self_of(call).dtype, shape), tensor_fact(DType::i64, shape)};
}

// max and min: of all, along a dimension, or of two tensors.
Facts extreme(const Call& call) {
  if (!call.has("other")) return values_and_indices(call);
  Promotion promotion;
  promotion.add(call.fact("self"));
  promotion.add(call.fact("other"));
  return {tensor_fact(promotion.result(), broadcast(self_of(call).shape, tensor_of(call, "other").shape))};
}

Facts same_with_indices(const Call& call) { return {like(self_of(call)), tensor_fact(DType::i64, self_of(call).shape)}; }
Facts order(const Call& call) { return {tensor_fact(DType::i64, self_of(call).shape)}; }

// Nodes that compute NaN, true or false of nothing are needed where a dimension that is reduced may be empty.
Verdict reduces_elements(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {.truth = Truth::no};
  const auto has_elements = [](const Dim& size) { return provably_at_least_if_empty(size, 1); };
  const auto all = [&] { return std::ranges::all_of(*self.shape, has_elements); };
  if (!call.has("dim") || call.is_none("dim")) return {.truth = all() ? Truth::yes : Truth::no};
  const auto dims = call.ints("dim");
  if (!dims) return {.truth = Truth::no};
  if (dims->empty()) return {.truth = all() ? Truth::yes : Truth::no};
  for (const std::int64_t dim : *dims)
    if (const auto at = wrap_dim(dim, self.shape->size()); at && *at < self.shape->size() && !has_elements((*self.shape)[*at]))
      return {.truth = Truth::no};
  return {.truth = Truth::yes};
}

// Along dimensions of size 1 alone.
Verdict reduces_one(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dims = call.is_none("dim") ? std::nullopt : call.ints("dim");
  if (!self.shape || (!dims && !call.is_none("dim"))) return {.truth = Truth::no};
  const auto is_one = [](const Dim& size) { return size.number() == 1; };
  if (!dims || dims->empty()) return {.truth = std::ranges::all_of(*self.shape, is_one) ? Truth::yes : Truth::no};
  // A tensor without dimensions that names one is raised to the power.
  const auto order = call.has("ord") ? call.number("ord") : call.has("p") ? call.number("p") : std::nullopt;
  if (self.shape->empty() && order && *order != 1 && *order != 2 && !std::isinf(*order)) return {.truth = Truth::no};
  for (const std::int64_t dim : *dims)
    if (const auto at = wrap_dim(dim, self.shape->size()); at && *at < self.shape->size() && !is_one((*self.shape)[*at]))
      return {.truth = Truth::no};
  return {.truth = Truth::yes};
}

// `k` counts what is there along `dim`.
void demand_so_many(const Call& call, std::int64_t least) {
  const TensorFact& self = self_of(call);
  const auto dim = dim_index(call, "dim", self);
  const auto k = call.dim("k");
  if (!dim || !k) return;
  Demands demands;
  demands.at_least(*k, least, "k");
  demands.at_most(*k, self.shape->empty() ? Dim(1) : (*self.shape)[*dim], "k");
  demands.hold();
}

Facts kthvalue(const Call& call) {
  demand_so_many(call, 1);
  return values_and_indices(call);
}

Facts topk(const Call& call) {
  demand_so_many(call, 0);
  const TensorFact& self = self_of(call);
  const auto dim = dim_index(call, "dim", self);
  std::optional<Shape> shape = self.shape;
  if (shape && !shape->empty() && dim)
    (*shape)[*dim] = call.dim("k").value_or(Dim::unknown());
  else if (shape && !dim)
    shape = unknown_sizes(shape->size());
  return {tensor_fact(self.dtype, shape), tensor_fact(DType::i64, shape)};
}

// ---- Distinct values, whose number nobody knows before

Fact when(const std::optional<bool>& asked, std::optional<Shape> shape) {
  if (!asked) return tensor_fact(DType::i64, std::nullopt);
  return tensor_fact(DType::i64, *asked ? std::move(shape) : std::optional(Shape{0}));
}

Facts unique(const Call& call) {
  const TensorFact& self = self_of(call);
  const bool flat = call.is_none("dim");
  if (!flat && self.shape && self.shape->empty()) throw Impossible{"a tensor without dimensions has none to look along"};
  const auto dim = flat ? std::nullopt : dim_index(call, "dim", self);
  std::optional<Shape> values = flat ? std::optional(unknown_sizes(1)) : self.shape, inverse = self.shape;
  if (!flat && values) {
    if (!dim || *dim >= values->size())
      values = unknown_sizes(values->size());
    else
      (*values)[*dim] = Dim::unknown();
    inverse = Shape{dim ? size_at(self, *dim) : Dim::unknown()};
  }
  const bool always_inverse = call.op() != "aten::unique_consecutive" && !flat;  // unique_dim computes both anyway
  Facts facts{tensor_fact(self.dtype, std::move(values)),
              when(always_inverse ? true : call.boolean("return_inverse"), std::move(inverse))};
  if (call.node().outputs().size() > 2)
    facts.push_back(when(always_inverse ? true : call.boolean("return_counts"), unknown_sizes(1)));
  return facts;
}

// ---- Quantiles, histograms, counts

Facts quantile(const Call& call) {
  const TensorFact& self = self_of(call);
  auto shape = reduced(call);
  const auto* q = call.tensor("q");
  if (q) {
    if (!q->shape)
      shape.reset();
    else if (shape && q->shape->size() == 1)
      shape->insert(shape->begin(), q->shape->front());
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

// Boundaries for all, or for each row: then the dimensions before the last are the same.
void demand_boundaries(const Call& call) {
  const bool rows = call.has("sorted_sequence");
  const char* boundaries = rows ? "sorted_sequence" : "boundaries";
  const auto &sorted = tensor_of(call, boundaries).shape, &self = tensor_of(call, "self").shape;
  Demands demands;
  if (!rows || call.fact("self").number() || (self && self->empty()))
    demands.rank(call, boundaries, 1, 1);
  else if (sorted && sorted->empty())
    demands.broken("the rank of " + std::string(boundaries) + " must be at least 1, but is 0");
  else if (sorted && self && sorted->size() != 1) {
    demands.rank(call, "self", sorted->size(), sorted->size());
    for (std::size_t i = 0; i + 1 < sorted->size() && self->size() == sorted->size(); ++i)
      demands.equal((*self)[i], (*sorted)[i], "dimension " + std::to_string(i) + " of self");
  }
  demands.hold();
}

Facts searched(const Call& call) {
  demand_boundaries(call);
  const auto narrow = call.boolean("out_int32");
  const auto dtype = narrow ? std::optional(*narrow ? DType::i32 : DType::i64) : std::nullopt;
  return {tensor_fact(dtype, call.fact("self").number() ? std::optional(Shape{}) : tensor_of(call, "self").shape)};
}

Facts histogram_counts(const Call& call) {
  return {tensor_fact(self_of(call).dtype, Shape{call.dim("bins").value_or(Dim::unknown())})};
}

// (histogram, edges): bins is their number, or the edges themselves.
Facts histogram(const Call& call) {
  const auto dtype = self_of(call).dtype;
  const auto* edges = call.tensor("bins");
  const Dim count = edges ? size_at(*edges, 0) - Dim(1) : call.dim("bins").value_or(Dim::unknown());
  return {tensor_fact(dtype, Shape{count}), tensor_fact(dtype, Shape{count + Dim(1)})};
}

// Of points in several dimensions: (histogram, list of edges). `bins` may be one number for all.
Facts joint_histogram(const Call& call) {
  constexpr std::int64_t most_dimensions = 64;
  const auto dtype = self_of(call).dtype;
  const auto bins = call.list("bins");
  const auto& points = self_of(call).shape;
  const auto dimensions = points && !points->empty() ? points->back().number() : std::nullopt;
  if (const auto count = call.dim("bins"); count && dimensions && *dimensions <= most_dimensions) {
    const auto times = static_cast<std::size_t>(*dimensions);
    return {tensor_fact(dtype, Shape(times, *count)), list_fact(Facts(times, tensor_fact(dtype, Shape{*count + Dim(1)})))};
  }
  if (!bins) return {tensor_fact(dtype, std::nullopt), list_of(tensor_fact(dtype, unknown_sizes(1)))};
  Shape shape;
  Facts edges;
  for (const Fact* bin : *bins) {
    const auto* given = bin->tensor();
    const auto* number = bin->number();
    shape.push_back(given ? size_at(*given, 0) - Dim(1) : number && number->integer ? *number->integer : Dim::unknown());
    edges.push_back(tensor_fact(dtype, Shape{shape.back() + Dim(1)}));
  }
  return {tensor_fact(dtype, std::move(shape)), list_fact(std::move(edges))};
}

template <std::size_t output>
Facts of_joint_histogram(const Call& call) {
  return {joint_histogram(call).at(output)};
}

Facts bincount(const Call& call) {
  if (call.is_none("weights")) return {tensor_fact(DType::i64, unknown_sizes(1))};
  Demands demands;
  demands.equal(size_at(tensor_of(call, "weights"), 0), size_at(self_of(call), 0), "the length of weights");
  demands.hold();
  const auto dtype = call.dtype_of("weights");
  return {tensor_fact(dtype == DType::f32 ? DType::f32 : DType::f64, unknown_sizes(1))};
}

Facts count_nonzero(const Call& call) { return {tensor_fact(DType::i64, reduced(call))}; }
Facts isin(const Call& call) {
  return {tensor_fact(DType::boolean, call.has("elements") ? tensor_of(call, "elements").shape : std::optional(Shape{}))};
}

Facts trace(const Call& call) {
  const auto dtype = self_of(call).dtype;
  const bool integers = dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean);
  return {tensor_fact(integers ? std::optional(DType::i64) : dtype, Shape{})};
}

Facts hash_tensor(const Call& call) { return {tensor_fact(DType::u64, reduced(call))}; }

// Along `axis`, one result for each segment; the segments' batch dimensions lead.
Facts segment_reduce(const Call& call) {
  const TensorFact& data = tensor_of(call, "data");
  const bool by_length = !call.is_none("lengths");
  const TensorFact& segments = tensor_of(call, by_length ? "lengths" : "offsets");
  const auto axis = call.integer("axis");
  if (!data.shape || !segments.shape || segments.shape->empty() || !axis || *axis < 0 ||
      static_cast<std::size_t>(*axis) >= data.shape->size())
    return {tensor_fact(data.dtype, std::nullopt)};
  Shape shape = *data.shape;
  shape[static_cast<std::size_t>(*axis)] = segments.shape->back() - Dim(by_length ? 0 : 1);
  return {tensor_fact(data.dtype, std::move(shape))};
}

// ---- Sums along a dimension of differences and areas

Facts diff(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto n = call.integer("n");
  if (n == 0) return {tensor_fact(self.dtype, self.shape)};  // whatever is to be joined to it
  const auto dim = dim_index(call, "dim", self);
  Promotion promotion;
  for (const char* argument : {"self", "prepend", "append"}) promotion.add(call.fact(argument));
  auto dtype = promotion.result();
  if (!self.shape || self.shape->empty() || !dim || !n) return {tensor_fact(dtype, std::nullopt)};
  Shape shape = *self.shape;
  Demands demands;
  for (const char* more : {"prepend", "append"})
    if (!call.is_none(more)) {
      const TensorFact& tensor = tensor_of(call, more);
      demands.rank(call, more, shape.size(), shape.size());
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (i != *dim) demands.equal(size_at(tensor, i), shape[i], "a size of " + std::string(more));
      shape[*dim] = shape[*dim] + size_at(tensor, *dim);
    }
  demands.hold();
  const Dim left = shape[*dim] - Dim(*n);
  shape[*dim] = left.is_number()             ? Dim(std::max<std::int64_t>(0, *left.number()))
                : provably_at_least(left, 0) ? left
                                             : Dim::unknown();
  return {tensor_fact(dtype, std::move(shape))};
}

// Areas between samples; x, of one dimension or all, gives their places.
std::optional<Shape> areas(const Call& call, bool cumulative) {
  const TensorFact &y = tensor_of(call, "y"), &x = tensor_of(call, "x");
  const auto dim = dim_index(call, "dim", y);
  if (!dim || y.shape->empty()) return std::nullopt;
  std::optional<Shape> shape = y.shape;
  if (call.has("x")) {
    if (!x.shape) return std::nullopt;
    if (x.shape->size() == 1) {
      Demands demands;
      demands.equal(x.shape->front(), (*y.shape)[*dim], "the number of places in x");
      demands.hold();
    } else {
      if (x.shape->size() != y.shape->size()) return std::nullopt;
      shape = broadcast(shape, x.shape);
    }
  }
  const Dim samples = (*y.shape)[*dim];
  if (cumulative)
    (*shape)[*dim] = samples.number() == 0 ? Dim(0) : agreed_dim((*shape)[*dim], samples) - Dim(1);
  else
    shape->erase(shape->begin() + static_cast<std::ptrdiff_t>(*dim));
  return shape;
}

std::optional<DType> area_dtype(const Call& call) {
  Promotion promotion;
  promotion.add(call.fact("y"));
  promotion.add(call.has("x") ? call.fact("x") : call.fact("dx"));
  return as_float(promotion.result());
}

// Without samples PyTorch returns zeros of y's own dtype.
Facts trapezoid(const Call& call) {
  const TensorFact& y = tensor_of(call, "y");
  const auto dim = dim_index(call, "dim", y);
  auto dtype = area_dtype(call);
  const bool may_be_empty = dim && !y.shape->empty() && !provably_at_least_if_empty((*y.shape)[*dim], 1);
  if (may_be_empty && dtype != y.dtype) dtype = (*y.shape)[*dim].number() == 0 ? y.dtype : std::nullopt;
  return {tensor_fact(dtype, areas(call, false))};
}
Facts cumulative_trapezoid(const Call& call) { return {tensor_fact(area_dtype(call), areas(call, true))}; }

void demand_gradient(const Call& call, const TensorFact& self) {
  Demands demands;
  const auto order = call.integer("edge_order");
  if (order && *order != 1 && *order != 2) demands.broken("edge_order must be 1 or 2");
  if (!self.shape) return demands.hold();
  const auto dims = call.is_none("dim") ? std::nullopt : call.dims("dim");
  const auto spacings = call.fact("spacing").list() ? call.list("spacing") : std::nullopt;
  const std::size_t count = dims ? dims->size() : self.shape->size();
  if (spacings && (dims || call.is_none("dim")))
    demands.equal(Dim(static_cast<std::int64_t>(spacings->size())), Dim(static_cast<std::int64_t>(count)),
                  "the length of 'spacing'");
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t axis = i;
    if (dims) {
      const auto number = (*dims)[i].number();
      if (!number) continue;
      const auto wrapped = self.shape->empty() ? std::nullopt : wrap_dim(*number, self.shape->size());
      if (!wrapped) {
        demands.broken("self has no dimension " + std::to_string(*number));
        continue;
      }
      axis = *wrapped;
    }
    if (order) demands.at_least((*self.shape)[axis], *order + 1, "dimension " + std::to_string(axis) + " of self");
  }
  demands.hold();
}

// One tensor for each dimension asked for.
Facts gradient(const Call& call) {
  const TensorFact& self = self_of(call);
  demand_gradient(call, self);
  const Fact part = tensor_fact(as_float(self.dtype), self.shape);
  if (call.is_none("dim")) {
    if (call.fact("spacing").list() && call.list("spacing")) return {list_fact(Facts(call.list("spacing")->size(), part))};
    return {self.shape && !call.fact("spacing").list() ? list_fact(Facts(self.shape->size(), part)) : list_of(part)};
  }
  const auto dims = call.dims("dim");
  return {dims ? list_fact(Facts(dims->size(), part)) : list_of(part)};
}

}  // namespace

void register_reduction(Registry& registry) {
  for (const char* op : {"aten::norm", "aten::linalg_vector_norm", "aten::native_norm", "aten::frobenius_norm",
                         "aten::nuclear_norm", "aten::linalg_matrix_norm", "aten::linalg_norm"})
    registry.facts(op, norm);
  registry.facts("aten::linalg_cond", matrix_value);
  for (const char* op : {"aten::var", "aten::std"}) registry.facts(op, spread_of_values);
  for (const char* op : {"aten::var_mean", "aten::std_mean"}) registry.facts(op, spread_and_mean);
  registry.facts("aten::aminmax", pair_of_values);
  for (const char* op : {"aten::median", "aten::nanmedian", "aten::mode"}) registry.facts(op, values_and_indices);
  registry.facts("aten::kthvalue", kthvalue);
  for (const char* op : {"aten::max", "aten::min"}) registry.facts(op, extreme);
  for (const char* op : {"aten::sort", "aten::cummax", "aten::cummin"}) registry.facts(op, same_with_indices);
  registry.facts("aten::argsort", order);
  registry.facts("aten::topk", topk);
  for (const char* op :
       {"aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive"})
    registry.facts(op, unique);
  for (const char* op : {"aten::quantile", "aten::nanquantile"}) registry.facts(op, quantile);
  for (const char* op : {"aten::searchsorted", "aten::bucketize"}) registry.facts(op, searched);
  registry.facts("aten::histc", histogram_counts);
  registry.facts("aten::histogram", histogram);
  registry.facts("aten::histogramdd", joint_histogram);
  registry.facts("aten::_histogramdd_bin_edges", of_joint_histogram<1>);
  for (const char* op : {"aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors"})
    registry.facts(op, of_joint_histogram<0>);
  registry.facts("aten::bincount", bincount);
  registry.facts("aten::count_nonzero", count_nonzero);
  registry.facts("aten::isin", isin);
  registry.facts("aten::trace", trace);
  registry.facts("aten::hash_tensor", hash_tensor);
  registry.facts("aten::segment_reduce", segment_reduce);
  registry.facts("aten::diff", diff);
  for (const char* op : {"aten::trapezoid", "aten::trapz"}) registry.facts(op, trapezoid);
  registry.facts("aten::cumulative_trapezoid", cumulative_trapezoid);
  registry.facts("aten::gradient", gradient);
  registry.condition("reduces_elements", reduces_elements);
  registry.condition("reduces_one", reduces_one);
  registry.condition("has_extremes", has_extremes);
}

}  // namespace compatcheck::symbolic
