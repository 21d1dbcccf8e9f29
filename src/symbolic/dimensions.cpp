#include "symbolic/dimensions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

constexpr std::array<std::string_view, 13> dim_names = {"dim",       "dims",    "dim0",     "dim1",   "dim2",
                                                        "axis",      "axis0",   "axis1",    "source", "destination",
                                                        "start_dim", "end_dim", "dimension"};

// Operators whose `dim` counts the dimensions of the result, which has one more.
constexpr std::array<std::string_view, 6> add_one = {"aten::unsqueeze", "aten::unsqueeze_", "aten::unsqueeze_copy",
                                                     "aten::stack",     "aten::_stack",     "aten::diag_embed"};

// An int, or a list of them.
bool counts(const ir::TypeRef& type) {
  if (!type) return false;
  if (ir::is(type, ir::TypeKind::optional) || ir::is(type, ir::TypeKind::list)) return counts(type->elements.front());
  return ir::is(type, ir::TypeKind::integer);
}

// Operators that broadcast their operands, but whose `dim` counts the dimensions of the first.
constexpr std::array<std::string_view, 3> of_first = {"aten::trapezoid", "aten::trapz", "aten::cumulative_trapezoid"};

bool among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// The highest of its tensors, members of lists too; nullopt if one isn't known.
std::optional<std::size_t> highest_rank(const Call& call) {
  std::optional<std::size_t> highest;
  bool known = true;
  const auto look = [&](const Fact& fact) {
    const auto* tensor = fact.tensor();
    known &= tensor && tensor->shape;
    if (known) highest = std::max(highest.value_or(0), tensor->shape->size());
  };
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i) {
    const Fact& fact = call.input(i);
    if (i > 0 && among(of_first, call.op())) break;
    if (!ir::holds(*arguments[i].type, ir::TypeKind::tensor) || arguments[i].keyword_only || fact.is_none()) continue;
    if (!ir::is(arguments[i].type, ir::TypeKind::list)) {
      look(fact);
    } else if (const auto* list = fact.list(); list && list->items) {
      std::ranges::for_each(*list->items, look);
    } else {
      return std::nullopt;
    }
  }
  return known ? highest : std::nullopt;
}

// Only of PyTorch's own operators: elsewhere `dim` may be a width. Backward operators hold tensors of other ranks; the dims of
// tile are counts.
bool follows_names(std::string_view op) {
  const bool own = op.starts_with("aten::") || op.starts_with("prim::") || op.starts_with("quantized::");
  return own && !op.ends_with("_backward") && op != "aten::tile";
}

}  // namespace

std::optional<std::size_t> counted_rank(const Call& call) {
  if (!call.node().schema() || !follows_names(call.op())) return std::nullopt;
  const auto rank = highest_rank(call);
  return rank && among(add_one, call.op()) ? *rank + 1 : rank;
}

Verdict dimensions_exist(const Call& call) {
  const auto* schema = call.node().schema();
  if (!schema || !follows_names(call.op())) return {.truth = Truth::yes};
  std::optional<std::size_t> rank;
  for (const schema::Argument& argument : schema->arguments) {
    if (!among(dim_names, argument.name) || !counts(argument.type) || call.is_none(argument.name)) continue;
    ir::CheckedVector<std::int64_t> dims;
    if (const auto one = call.integer(argument.name))
      dims.push_back(*one);
    else if (auto several = call.ints(argument.name))
      dims = *std::move(several);
    if (dims.empty()) continue;
    if (!rank) rank = counted_rank(call);
    if (!rank) break;
    for (const std::int64_t dim : dims)
      if (!wrap_dim(dim, *rank))
        return {.truth = Truth::no,
                .message = "dimension " + std::to_string(dim) + " is out of range for rank " + std::to_string(*rank)};
  }
  return {.truth = Truth::yes};
}

}  // namespace compatcheck::symbolic
