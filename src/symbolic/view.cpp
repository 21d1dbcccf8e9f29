// Views: facts, and what PyTorch demands.
#include "symbolic/view.h"

#include <algorithm>

#include "process/spell_count.h"
#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/size_demands.h"

namespace compatcheck::symbolic {
namespace {

// The same elements in another shape: known elements stay known.
Fact reshaped(const TensorFact& self, std::optional<Shape> shape) {
  TensorFact result = self;
  result.shape = std::move(shape);
  return {.value = std::move(result)};
}

Facts identity(const Call& call) { return {{.value = self_of(call)}}; }

// One size may be −1, or not known: it follows from the number of elements.
std::optional<Shape> view_shape(const TensorFact& self, const std::vector<Dim>& sizes) {
  Shape shape = sizes;
  const auto is_free = [](const Dim& dim) { return dim.number() == -1 || dim.is_unknown(); };
  const auto free = std::find_if(shape.begin(), shape.end(), is_free);
  if (free == shape.end()) return shape;
  if (std::find_if(free + 1, shape.end(), is_free) != shape.end()) {
    for (Dim& dim : shape)
      if (is_free(dim)) dim = Dim::unknown();
    return shape;
  }
  *free = 1;
  const Dim others = product(shape);
  *free = self.shape ? floor_div(product(*self.shape), others) : Dim::unknown();
  return shape;
}

// The same bytes as another dtype: the last dimension holds more or fewer elements.
Facts reinterpreted(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dtype = call.dtype("dtype");
  if (!dtype || !self.dtype || !self.shape || self.shape->empty()) return {tensor_fact(dtype, std::nullopt)};
  const auto from = static_cast<std::int64_t>(ir::element_bytes(*self.dtype)),
             to = static_cast<std::int64_t>(ir::element_bytes(*dtype));
  Shape shape = *self.shape;
  shape.back() = from == to ? shape.back() : to == 0 ? Dim::unknown() : floor_div(shape.back() * Dim(from), to);
  return {tensor_fact(dtype, std::move(shape))};
}

Facts view(const Call& call) {
  const TensorFact& self = self_of(call);
  if (call.has("dtype")) return reinterpreted(call);
  const auto sizes = call.dims(call.has("size") ? "size" : "shape");
  return {reshaped(self, sizes ? view_shape(self, *sizes) : std::nullopt)};
}

Facts reshaped_by_tensor(const Call& call) {
  const TensorFact& shape = tensor_of(call, "shape");
  if (shape.contents) return {reshaped(self_of(call), view_shape(self_of(call), *shape.contents))};
  const auto rank = size_at(shape, 0).number();
  constexpr std::int64_t most_dimensions = 64;  // PyTorch's own bound
  return {reshaped(self_of(call), rank && *rank >= 0 && *rank <= most_dimensions
                                      ? std::optional(unknown_sizes(static_cast<std::size_t>(*rank)))
                                      : std::nullopt)};
}

Facts like_other(const Call& call) {
  const auto* other = call.tensor("other");
  return {reshaped(self_of(call), other ? other->shape : std::nullopt)};
}

Facts flatten(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto start = call.integer("start_dim"), end = call.integer("end_dim");
  if (!self.shape || !start || !end) return {reshaped(self, std::nullopt)};
  if (self.shape->empty()) return {reshaped(self, Shape{1})};
  const auto first = wrap_dim(*start, self.shape->size()), last = wrap_dim(*end, self.shape->size());
  if (first && last && *first > *last) throw Impossible{"start_dim comes after end_dim"};
  if (!first || !last) return {reshaped(self, std::nullopt)};
  Shape shape(self.shape->begin(), self.shape->begin() + static_cast<std::ptrdiff_t>(*first));
  Dim merged = 1;
  for (std::size_t i = *first; i <= *last; ++i) merged = merged * (*self.shape)[i];
  shape.push_back(merged);
  shape.insert(shape.end(), self.shape->begin() + static_cast<std::ptrdiff_t>(*last) + 1, self.shape->end());
  return {reshaped(self, std::move(shape))};
}

Facts ravel(const Call& call) {
  const TensorFact& self = self_of(call);
  return {reshaped(self, Shape{self.shape ? product(*self.shape) : Dim::unknown()})};
}

Facts unflatten(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim");
  const auto sizes = call.dims("sizes");
  const auto index = dim && self.shape && !self.shape->empty() ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (!index || !sizes) return {reshaped(self, std::nullopt)};
  const TensorFact part{.shape = Shape{(*self.shape)[*index]}};
  Shape shape = *self.shape;
  const auto inner = view_shape(part, *sizes);
  const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*index));
  shape.insert(at, inner->begin(), inner->end());
  return {reshaped(self, std::move(shape))};
}

// The product of the parts is the size of the dimension; a part of -1 is inferred.
Verdict parts_fit(const Call& call) {
  Demands demands;
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim");
  const auto sizes = call.dims("sizes");
  const auto index = dim && self.shape && !self.shape->empty() ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (!index || !sizes || std::ranges::any_of(*sizes, [](const Dim& size) { return !size.is_number(); }))
    return demands.verdict();
  const auto open = std::ranges::count(*sizes, std::optional<std::int64_t>(-1), &Dim::number);
  Dim parts = 1;
  for (const Dim& size : *sizes)
    if (size.number() != -1) parts = parts * size;
  if (open > 1 || (open == 1 && parts.number() == 0))
    demands.broken("only one size may be -1, and the others must not multiply to 0");
  if (open == 0) demands.equal((*self.shape)[*index], parts, "the size of the dimension to unflatten");
  if (open == 1 && parts.number() != 0) demands.multiple((*self.shape)[*index], parts, "the size of the dimension to unflatten");
  return demands.verdict();
}

Facts unsqueeze(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim");
  if (!self.shape || !dim) return {reshaped(self, std::nullopt)};
  const auto index = wrap_dim(*dim, self.shape->size() + 1);
  if (!index) return {reshaped(self, std::nullopt)};
  Shape shape = *self.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*index), Dim(1));
  return {reshaped(self, std::move(shape))};
}

// Drops the sizes of 1 among `dims`; a named size may be 1 as well, then the rank isn't known.
std::optional<Shape> squeezed(const Shape& shape, const std::optional<std::vector<std::int64_t>>& dims) {
  std::vector<bool> chosen(shape.size(), !dims);
  if (dims)
    for (const std::int64_t dim : *dims) {
      const auto index = wrap_dim(dim, shape.size());
      if (!index) return std::nullopt;
      if (*index < chosen.size()) chosen[*index] = true;
    }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!chosen[i]) {
      result.push_back(shape[i]);
      continue;
    }
    if (provably_equal(shape[i], 1)) continue;
    if (!never_one(shape[i])) return std::nullopt;
    result.push_back(shape[i]);
  }
  return result;
}

Facts squeeze(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {reshaped(self, std::nullopt)};
  if (!call.has("dim")) return {reshaped(self, squeezed(*self.shape, std::nullopt))};
  const auto dims = call.ints("dim");
  return {reshaped(self, dims ? squeezed(*self.shape, dims) : std::nullopt)};
}

Facts transpose(const Call& call) {
  const TensorFact& self = self_of(call);
  const bool axes = call.has("axis0");  // swapaxes
  const auto first = call.integer(axes ? "axis0" : "dim0"), second = call.integer(axes ? "axis1" : "dim1");
  if (!self.shape || !first || !second) return {tensor_fact(self.dtype, std::nullopt)};
  const auto a = wrap_dim(*first, self.shape->size()), b = wrap_dim(*second, self.shape->size());
  Shape shape = *self.shape;
  if (a && b && *a < shape.size() && *b < shape.size()) std::swap(shape[*a], shape[*b]);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// A scalar is its own transpose everywhere.
void demand_matrix(const Call& call, std::size_t rank) {
  if (call.op().starts_with("aten::t")) {
    if (rank > 2) throw Impossible{"t() supports at most two dimensions, but 'self' has " + std::to_string(rank)};
  } else if (rank == 1 || (rank > 2 && call.op() == "aten::matrix_H")) {
    throw Impossible{"matrices are transposed, and 'self' has " + std::to_string(rank) +
                     (rank == 1 ? " dimension" : " dimensions")};
  }
}

}  // namespace

Facts matrix_transpose(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  demand_matrix(call, shape.size());
  if (shape.size() >= 2) std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
  return {tensor_fact(self.dtype, std::move(shape))};
}

namespace {

Facts reverse_dims(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {tensor_fact(self.dtype, std::nullopt)};
  return {tensor_fact(self.dtype, Shape(self.shape->rbegin(), self.shape->rend()))};
}

Facts permute(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dims = call.ints("dims");
  if (!self.shape || !dims) return {tensor_fact(self.dtype, std::nullopt)};
  if (dims->size() != self.shape->size())
    throw Impossible{"a tensor of rank " + std::to_string(self.shape->size()) + " is permuted by " +
                     spell_count(dims->size(), "dimension")};
  Shape shape;
  for (const std::int64_t dim : *dims) {
    const auto index = wrap_dim(dim, self.shape->size());
    if (!index) return {tensor_fact(self.dtype, std::nullopt)};
    shape.push_back((*self.shape)[*index]);
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts move_dims(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto source = call.ints("source"), destination = call.ints("destination");
  if (!self.shape || !source || !destination || source->size() != destination->size())
    return {tensor_fact(self.dtype, std::nullopt)};
  const std::size_t rank = self.shape->size();
  std::vector<std::optional<std::size_t>> order(rank);
  std::vector<bool> moved(rank, false);
  for (std::size_t i = 0; i < source->size(); ++i) {
    const auto from = wrap_dim((*source)[i], rank), to = wrap_dim((*destination)[i], rank);
    if (!from || !to || rank == 0 || moved[*from] || order[*to]) return {tensor_fact(self.dtype, std::nullopt)};
    order[*to] = *from;
    moved[*from] = true;
  }
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!order[i]) {
      while (next < rank && moved[next]) ++next;
      if (next == rank) return {tensor_fact(self.dtype, std::nullopt)};  // a dimension is named twice
      order[i] = next++;
    }
    shape.push_back((*self.shape)[*order[i]]);
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

// −1 keeps the size; sizes lead on the left.
Facts expand(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto sizes = call.dims("size");
  if (!self.shape || !sizes || sizes->size() < self.shape->size()) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *sizes;
  const std::size_t lead = shape.size() - self.shape->size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i].number() == -1) shape[i] = i >= lead ? (*self.shape)[i - lead] : Dim::unknown();
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts expand_as(const Call& call) {
  const auto* other = call.tensor("other");
  if (other && other->shape) demand_broadcast(self_of(call).shape, *other->shape, "self");
  return {tensor_fact(self_of(call).dtype, other ? other->shape : std::nullopt)};
}

// self with at least `rank` dimensions.
template <std::size_t rank>
Fact with_rank(const TensorFact& self) {
  if (!self.shape) return reshaped(self, std::nullopt);
  Shape shape = *self.shape;
  if (rank >= 1 && shape.empty()) shape = {1};
  if (rank >= 2 && shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  if (rank >= 3 && shape.size() == 2) shape.emplace_back(1);
  return reshaped(self, std::move(shape));
}

template <std::size_t rank>
Facts at_least_rank(const Call& call) {
  if (call.has("self")) return {with_rank<rank>(self_of(call))};
  const auto tensors = call.list("tensors");
  if (!tensors) return {list_of(tensor_fact(std::nullopt, std::nullopt))};
  Facts items;
  for (const Fact* item : *tensors) items.push_back(with_rank<rank>(item->tensor() ? *item->tensor() : TensorFact{}));
  return {list_fact(std::move(items))};
}

// Sliding windows of `size` at every `step`: their number in place of the dimension, their size at the end.
Facts unfold(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dimension"), size = call.integer("size"), step = call.integer("step");
  const auto index = dim && self.shape ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (!index || !size || !step) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  if (shape.empty()) return {tensor_fact(self.dtype, Shape{*size})};
  shape[*index] = floor_div(shape[*index] - Dim(*size), Dim(*step)) + Dim(1);
  shape.push_back(Dim(*size));
  return {tensor_fact(self.dtype, std::move(shape))};
}

// ---- Demands

Verdict unfolding_fits(const Call& call) {
  Demands demands;
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dimension");
  if (!dim || !self.shape) return demands.verdict();
  const auto index = wrap_dim(*dim, self.shape->size());
  if (!index)
    demands.broken("self has no dimension " + std::to_string(*dim));
  else
    demands.at_most(call.dim("size").value_or(Dim::unknown()), self.shape->empty() ? Dim(1) : (*self.shape)[*index], "size");
  return demands.verdict();
}

// Sizes lead on the left; −1 keeps one that is there, others must be its size unless that is 1.
Verdict expansion_fits(const Call& call) {
  Demands demands;
  const TensorFact& self = self_of(call);
  const auto sizes = call.dims("size");
  if (!self.shape || !sizes) return demands.verdict();
  demands.at_least(Dim(static_cast<std::int64_t>(sizes->size())), static_cast<std::int64_t>(self.shape->size()),
                   "the length of size");
  if (sizes->size() < self.shape->size()) return demands.verdict();
  const std::size_t lead = sizes->size() - self.shape->size();
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const Dim& size = (*sizes)[i];
    if (i < lead)
      demands.at_least(size, 0, "size " + std::to_string(i) + ", of a dimension that self lacks,");
    else if (size.number() != -1 && provably_different((*self.shape)[i - lead], 1))
      demands.equal(size, (*self.shape)[i - lead], "size " + std::to_string(i));
  }
  return demands.verdict();
}

// The number of elements stays; a size of -1, or an unknown one, is inferred.
Verdict elements_fit(const Call& call) {
  Demands demands;
  const auto sizes = call.has("dtype") ? std::nullopt : call.dims(call.has("size") ? "size" : "shape");
  const auto& self = self_of(call).shape;
  if (sizes && std::ranges::count_if(*sizes, [](const Dim& size) { return size.number() == -1; }) > 1)
    demands.broken("two sizes of -1");
  if (!sizes || !self) return demands.verdict();
  Shape numbers;
  for (const Dim& size : *sizes)
    if (size.number().value_or(-1) != -1) numbers.push_back(size);
  if (numbers.size() == sizes->size())
    demands.equal(product(numbers), product(*self), "the number of elements of the result");
  else
    demands.multiple(product(*self), product(numbers), "the number of elements");
  Shape stated = *sizes;
  std::erase_if(stated, [](const Dim& size) { return size.number() == -1; });
  const bool all = stated.size() == sizes->size();
  const Dim elements = product(stated), found = product(*self);
  if (all && (provably_at_least(elements - found, 1) || provably_at_least(found - elements, 1)))
    demands.broken("the new shape has " + elements.to_string() + " elements, but self has " + found.to_string());
  if (stated.size() > numbers.size())
    demand({.size = found, .other = elements, .relation = all ? SizeDemand::Relation::equal : SizeDemand::Relation::multiple});
  return demands.verdict();
}

}  // namespace

void register_view(Registry& registry) {
  for (const char* op :
       {"aten::contiguous", "aten::detach", "aten::alias", "aten::clone", "aten::lift_fresh_copy", "aten::lift_fresh",
        "aten::lift", "aten::resolve_conj", "aten::resolve_neg", "aten::detach_copy", "aten::alias_copy"})
    registry.facts(op, identity);
  for (const char* op :
       {"aten::view", "aten::reshape", "aten::_unsafe_view", "aten::view_copy", "aten::_reshape_alias", "aten::_reshape_copy"})
    registry.facts(op, view);
  registry.facts("aten::_reshape_from_tensor", reshaped_by_tensor);
  registry.facts("aten::view_as", like_other);
  registry.facts("aten::reshape_as", like_other);
  registry.facts("aten::flatten", flatten);
  registry.facts("aten::ravel", ravel);
  registry.facts("aten::unflatten", unflatten);
  registry.condition("parts_fit", parts_fit);
  registry.facts("aten::unsqueeze", unsqueeze);
  registry.facts("aten::unsqueeze_copy", unsqueeze);
  registry.facts("aten::squeeze", squeeze);
  registry.facts("aten::squeeze_copy", squeeze);
  for (const char* op : {"aten::transpose", "aten::swapaxes", "aten::swapdims", "aten::transpose_copy"})
    registry.facts(op, transpose);
  for (const char* op : {"aten::t", "aten::mT", "aten::t_copy"}) registry.facts(op, matrix_transpose);
  registry.facts("aten::numpy_T", reverse_dims);
  registry.facts("aten::permute", permute);
  registry.facts("aten::permute_copy", permute);
  registry.facts("aten::movedim", move_dims);
  registry.facts("aten::moveaxis", move_dims);
  registry.facts("aten::expand", expand);
  registry.facts("aten::expand_copy", expand);
  registry.facts("aten::broadcast_to", expand);
  registry.facts("aten::expand_as", expand_as);
  for (const char* op : {"aten::unfold", "aten::unfold_copy"}) registry.facts(op, unfold);
  registry.condition("unfolding_fits", unfolding_fits);
  registry.condition("expansion_fits", expansion_fits);
  registry.condition("elements_fit", elements_fit);
  registry.facts("aten::atleast_1d", at_least_rank<1>);
  registry.facts("aten::atleast_2d", at_least_rank<2>);
  registry.facts("aten::atleast_3d", at_least_rank<3>);
}

}  // namespace compatcheck::symbolic
