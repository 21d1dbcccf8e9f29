#include "symbolic/layout_views.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "schema/traits.h"
#include "symbolic/emptiness.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using View = std::optional<Viewed>;
using Order = std::vector<std::size_t>;

std::optional<std::size_t> dim_below(const Call& call, std::string_view argument, std::size_t rank) {
  const auto dim = call.integer(argument);
  const auto index = dim ? wrap_dim(*dim, rank) : std::nullopt;
  return index && *index < rank ? index : std::nullopt;
}

View permuted(const Viewed& self, const Order& order) {
  Viewed view{.sizes = {}, .strides = {}, .offset = self.offset};
  for (const std::size_t dim : order) {
    view.sizes.push_back(self.sizes[dim]);
    view.strides.push_back(self.strides[dim]);
  }
  return view;
}

View permute_view(const Call& call, const Viewed& self) {
  const auto dims = call.ints("dims");
  if (!dims || dims->size() != self.sizes.size()) return std::nullopt;
  Order order;
  for (const std::int64_t dim : *dims) {
    const auto index = wrap_dim(dim, self.sizes.size());
    if (!index || std::ranges::find(order, *index) != order.end()) return std::nullopt;
    order.push_back(*index);
  }
  return permuted(self, order);
}

View swapped(const Viewed& self, std::optional<std::size_t> a, std::optional<std::size_t> b) {
  if (self.sizes.empty()) return self;
  if (!a || !b) return std::nullopt;
  Order order(self.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[*a], order[*b]);
  return permuted(self, order);
}

View transpose_view(const Call& call, const Viewed& self) {
  const std::size_t rank = self.sizes.size();
  if (call.has("dim0")) return swapped(self, dim_below(call, "dim0", rank), dim_below(call, "dim1", rank));
  return swapped(self, dim_below(call, "axis0", rank), dim_below(call, "axis1", rank));
}

View t_view(const Call&, const Viewed& self) { return self.sizes.size() == 2 ? swapped(self, 0, 1) : View(self); }
View last_transposed_view(const Call&, const Viewed& self) {
  const std::size_t rank = self.sizes.size();
  return rank < 2 ? std::nullopt : swapped(self, rank - 2, rank - 1);
}

View reversed_view(const Call&, const Viewed& self) {
  Order order(self.sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return permuted(self, order);
}

View move_dims_view(const Call& call, const Viewed& self) {
  const auto from = call.ints("source"), to = call.ints("destination");
  const std::size_t rank = self.sizes.size();
  if (!from || !to || from->size() != to->size()) return std::nullopt;
  constexpr std::size_t open = ~std::size_t{0};
  Order order(rank, open), rest;
  for (std::size_t i = 0; i < from->size(); ++i) {
    const auto source = wrap_dim((*from)[i], rank), place = wrap_dim((*to)[i], rank);
    if (!source || !place || *source >= rank || order[*place] != open) return std::nullopt;
    order[*place] = *source;
  }
  for (std::size_t dim = 0; dim < rank; ++dim)
    if (std::ranges::find(order, dim) == order.end()) rest.push_back(dim);
  auto next = rest.begin();
  for (std::size_t& dim : order)
    if (dim == open && next != rest.end()) dim = *next++;
  return std::ranges::find(order, open) == order.end() ? permuted(self, order) : std::nullopt;
}

View without(Viewed view, std::size_t dim) {
  view.sizes.erase(view.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  return view;
}

// From `start`, which isn't below 0. It may be unknown: strides don't depend on it.
View cut(Viewed view, std::size_t dim, const Dim& start, const Dim& size, std::int64_t step = 1) {
  view.offset = view.offset + start * view.strides[dim];
  view.sizes[dim] = size;
  view.strides[dim] = view.strides[dim] * Dim(step);
  return view;
}

View selected(Viewed view, std::size_t dim, const Dim& place) {
  view.offset = view.offset + place * view.strides[dim];
  return without(std::move(view), dim);
}

// Counted from the end below 0, and kept within the size.
std::optional<Dim> start_of(const Call& call, const Dim& size) {
  if (call.is_none("start")) return Dim(0);
  const auto start = call.integer("start");
  if (!start) return std::nullopt;
  if (*start == 0) return Dim(0);
  if (size.number()) return Dim(std::clamp<std::int64_t>(*start < 0 ? *start + *size.number() : *start, 0, *size.number()));
  const Dim from = *start < 0 ? size + Dim(*start) : Dim(*start);
  return provably_at_least(from, 0) && provably_at_least(size - from, 0) ? std::optional(from) : std::nullopt;
}

const Shape* output_sizes(const Call& call) {
  const auto* tensor = call.node().outputs().size() == 1 ? call.facts().of(call.node().output()).tensor() : nullptr;
  return tensor && tensor->shape ? &*tensor->shape : nullptr;
}

View select_view(const Call& call, const Viewed& self) {
  const auto dim = dim_below(call, "dim", self.sizes.size());
  const auto index = call.dim("index");
  if (!dim) return std::nullopt;
  const bool from_end = index && index->number() && *index->number() < 0;
  const bool is_open = !index || (!from_end && !provably_at_least(*index, 0));
  const Dim place = is_open ? Dim::unknown() : from_end ? self.sizes[*dim] + *index : *index;
  return selected(self, *dim, place);
}

View slice_view(const Call& call, const Viewed& self) {
  const auto dim = dim_below(call, "dim", self.sizes.size());
  const auto step = call.integer("step");
  const Shape* sizes = output_sizes(call);
  if (!dim || !step || !sizes || sizes->size() != self.sizes.size()) return std::nullopt;
  const auto start = start_of(call, self.sizes[*dim]);
  return cut(self, *dim, start.value_or(Dim::unknown()), (*sizes)[*dim], *step);
}

View narrow_view(const Call& call, const Viewed& self) {
  const auto dim = dim_below(call, "dim", self.sizes.size());
  const auto length = call.dim("length");
  if (!dim || !length) return std::nullopt;
  return cut(self, *dim, start_of(call, self.sizes[*dim]).value_or(Dim::unknown()), *length);
}

View expand_view(const Call& call, const Viewed& self) {
  const Shape* sizes = output_sizes(call);
  if (!sizes || sizes->size() < self.sizes.size()) return std::nullopt;
  const std::size_t added = sizes->size() - self.sizes.size();
  Viewed view{.sizes = *sizes, .strides = Shape(added, 0), .offset = self.offset};
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    const Dim& own = self.sizes[i];
    const bool stays = provably_equal(own, (*sizes)[added + i]) || provably_at_least(own, 2);
    if (!stays && own.number() != 1) return std::nullopt;
    view.strides.push_back(stays ? self.strides[i] : Dim(0));
  }
  return view;
}

View unsqueeze_view(const Call& call, const Viewed& self) {
  const auto dim = dim_below(call, "dim", self.sizes.size() + 1);
  if (!dim) return std::nullopt;
  Viewed view = self;
  const auto at = static_cast<std::ptrdiff_t>(*dim);
  view.strides.insert(view.strides.begin() + at, *dim < self.sizes.size() ? self.sizes[*dim] * self.strides[*dim] : Dim(1));
  view.sizes.insert(view.sizes.begin() + at, 1);
  return view;
}

View squeeze_view(const Call& call, const Viewed& self) {
  std::vector<bool> chosen(self.sizes.size(), !call.has("dim"));
  if (call.has("dim")) {
    auto dims = call.ints("dim");
    if (const auto one = call.integer("dim"); one && !dims) dims = {*one};
    if (!dims) return std::nullopt;
    for (const std::int64_t dim : *dims) {
      const auto index = wrap_dim(dim, self.sizes.size());
      if (!index) return std::nullopt;
      if (*index < chosen.size()) chosen[*index] = true;
    }
  }
  Viewed view{.sizes = {}, .strides = {}, .offset = self.offset};
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (chosen[i] && self.sizes[i].number() == 1) continue;
    if (chosen[i] && !never_one(self.sizes[i])) return std::nullopt;
    view.sizes.push_back(self.sizes[i]);
    view.strides.push_back(self.strides[i]);
  }
  return view;
}

View diagonal_view(const Call& call, const Viewed& self) {
  const auto a = dim_below(call, "dim1", self.sizes.size()), b = dim_below(call, "dim2", self.sizes.size());
  const auto offset = call.integer("offset");
  const Shape* sizes = output_sizes(call);
  if (!a || !b || *a == *b || !offset || !sizes || sizes->empty()) return std::nullopt;
  if (sizes->back().number() == 0) return std::nullopt;
  Viewed view = *without(*without(self, std::max(*a, *b)), std::min(*a, *b));
  view.offset = self.offset + (*offset >= 0 ? Dim(*offset) * self.strides[*b] : Dim(-*offset) * self.strides[*a]);
  view.sizes.push_back(sizes->back());
  view.strides.push_back(self.strides[*a] + self.strides[*b]);
  return view;
}

View unfold_view(const Call& call, const Viewed& self) {
  const auto dim = dim_below(call, "dimension", self.sizes.size());
  const auto size = call.dim("size"), step = call.dim("step");
  const Shape* sizes = output_sizes(call);
  if (!dim || !size || !step || !sizes || sizes->size() != self.sizes.size() + 1) return std::nullopt;
  Viewed view{.sizes = *sizes, .strides = self.strides, .offset = self.offset};
  view.strides[*dim] = self.strides[*dim] * *step;
  view.strides.push_back(self.strides[*dim]);
  return view;
}

View as_strided_view(const Call& call, const Viewed& self) {
  const auto sizes = call.dims("size"), strides = call.dims("stride");
  const auto offset = call.is_none("storage_offset") ? std::optional(self.offset) : call.dim("storage_offset");
  if (!sizes || !strides || sizes->size() != strides->size() || !offset) return std::nullopt;
  return Viewed{.sizes = *sizes, .strides = *strides, .offset = *offset};
}

using Rule = View (*)(const Call&, const Viewed&);

Rule rule_of(std::string_view op) {
  static const std::map<std::string_view, Rule> rules = {{"aten::as_strided", as_strided_view},
                                                         {"aten::broadcast_to", expand_view},
                                                         {"aten::diagonal", diagonal_view},
                                                         {"aten::expand", expand_view},
                                                         {"aten::expand_as", expand_view},
                                                         {"aten::mT", last_transposed_view},
                                                         {"aten::moveaxis", move_dims_view},
                                                         {"aten::movedim", move_dims_view},
                                                         {"aten::narrow", narrow_view},
                                                         {"aten::numpy_T", reversed_view},
                                                         {"aten::permute", permute_view},
                                                         {"aten::select", select_view},
                                                         {"aten::slice", slice_view},
                                                         {"aten::squeeze", squeeze_view},
                                                         {"aten::swapaxes", transpose_view},
                                                         {"aten::swapdims", transpose_view},
                                                         {"aten::t", t_view},
                                                         {"aten::transpose", transpose_view},
                                                         {"aten::unfold", unfold_view},
                                                         {"aten::unsqueeze", unsqueeze_view}};
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace

bool takes_view(std::string_view op) { return rule_of(op) != nullptr; }

View view_of(const Call& call, const Viewed& self) { return rule_of(call.op())(call, self); }

// The sizes of the parts before it decide where a part begins.
View part_of_split(const Call& split, const Viewed& self, std::size_t part) {
  const auto dim = dim_below(split, "dim", self.sizes.size());
  if (!dim) return std::nullopt;
  if (split.op() == "aten::unbind") return selected(self, *dim, static_cast<std::int64_t>(part));
  const auto* parts = split.facts().of(split.node().output()).list();
  if (!schema::has_trait(split.op(), schema::Trait::split) || !parts || !parts->items || part >= parts->items->size())
    return std::nullopt;
  Dim start = 0, size = 0;
  for (std::size_t i = 0; i <= part; ++i) {
    const auto* tensor = (*parts->items)[i].tensor();
    if (!tensor || !tensor->shape || tensor->shape->size() != self.sizes.size()) return std::nullopt;
    start = start + size;
    size = (*tensor->shape)[*dim];
  }
  return cut(self, *dim, start, size);
}

}  // namespace compatcheck::symbolic
