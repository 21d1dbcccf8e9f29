// Facts of operators that run along a dimension.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts same_with_indices(const Call& call) { return like_and(self_of(call), DType::i64); }

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
      demand_equal(x.shape->front(), (*y.shape)[*dim], "the number of places in x");
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

// One tensor for each requested dimension.
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

void register_scan(Registry& registry) {
  for (const char* op : {"aten::cummax", "aten::cummin"}) registry.facts(op, same_with_indices);
  registry.facts("aten::diff", diff);
  for (const char* op : {"aten::trapezoid", "aten::trapz"}) registry.facts(op, trapezoid);
  registry.facts("aten::cumulative_trapezoid", cumulative_trapezoid);
  registry.facts("aten::gradient", gradient);
}

}  // namespace compatcheck::symbolic
