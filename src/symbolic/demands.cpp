#include "symbolic/demands.h"

#include <algorithm>

#include "symbolic/size_demands.h"

namespace compatcheck::symbolic {

Verdict sizes_known(const Fact& fact, std::string_view name, std::size_t first, std::size_t end) {
  const auto open = [&](std::string message) {
    return Verdict{.truth = Truth::unknown, .message = std::move(message), .wants = fact.wants, .blame = fact.blame};
  };
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->shape) return open("the sizes of " + std::string(name) + " aren't known");
  for (std::size_t i = first; i < std::min(end, tensor->shape->size()); ++i) {
    const Dim& size = (*tensor->shape)[i];
    const std::string dimension = "dimension " + std::to_string(i) + " of " + std::string(name);
    if (size.is_number()) continue;
    if (size.is_unknown() && (!fact.wants.empty() || fact.blame)) return open(dimension + " isn't known");
    return {.truth = Truth::no, .message = dimension + " must be fixed, but is " + size.to_string()};
  }
  return {.truth = Truth::yes};
}

void Demands::state(bool holds, std::string_view what, std::string_view expected, const std::string& found) {
  if (!holds && !broken_) broken_ = std::string(what) + " must be " + std::string(expected) + ", but is " + found;
}

void Demands::at_least(const Dim& size, std::int64_t bound, std::string_view what) {
  demand({.size = size, .other = bound, .relation = SizeDemand::Relation::at_least});
  const bool below = size.is_number() ? *size.number() < bound : provably_at_least(Dim(bound - 1) - size, 0);  // without overflow
  if (below) state(false, what, "at least " + std::to_string(bound), size.to_string());
}

void Demands::at_most(const Dim& size, const Dim& bound, std::string_view what) {
  demand({.size = bound, .other = size, .relation = SizeDemand::Relation::at_least});
  if (provably_at_least(size - bound, 1)) state(false, what, "at most " + bound.to_string(), size.to_string());
}

void Demands::equal(const Dim& size, const Dim& expected, std::string_view what) {
  demand(size, expected);
  if (provably_different(size, expected)) state(false, what, expected.to_string(), size.to_string());
}

void Demands::multiple(const Dim& size, const Dim& of, std::string_view what) {
  demand({.size = size, .other = of, .relation = SizeDemand::Relation::multiple});
  if (!size.is_number() || !of.is_number()) return;
  if (of.number() == 0 || *size.number() % *of.number() != 0)
    state(false, what, "a multiple of " + of.to_string(), size.to_string());
}

void Demands::broken(std::string_view what) {
  if (!broken_) broken_ = std::string(what);
}

void Demands::rank(const Call& call, std::string_view argument, std::size_t least, std::size_t most) {
  const auto known = call.rank(argument);
  if (!known) return;
  const std::string expected =
      std::to_string(least) + (least == most ? "" : (most == least + 1 ? " or " : " to ") + std::to_string(most));
  state(*known >= least && *known <= most, "the rank of " + std::string(argument), expected, std::to_string(*known));
}

void Demands::length(const Call& call, std::string_view argument, std::size_t count) {
  const auto members = call.list(argument);
  if (!members || members->size() == count || members->size() == 1) return;
  state(false, "the length of " + std::string(argument), std::to_string(count), std::to_string(members->size()));
}

void Demands::one_dtype(const Fact& fact, std::string_view name) {
  if (const auto* list = fact.list(); list && list->items)
    for (const Fact& item : *list->items) one_dtype(item, name);
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->dtype) return;
  if (!dtype_)
    dtype_.emplace(*tensor->dtype, name);
  else if (dtype_->first != *tensor->dtype)
    broken("the dtypes of " + dtype_->second + " and " + std::string(name) + " must be the same, but are " +
           std::string(ir::name(dtype_->first)) + " and " + std::string(ir::name(*tensor->dtype)));
}

void Demands::one_dtype(const Call& call, std::initializer_list<std::string_view> arguments) {
  for (const std::string_view argument : arguments) one_dtype(call.fact(argument), argument);
}

void Demands::broadcasts(const Shape& from, const Shape& to, std::string_view what) {
  const auto size_fits = [&](std::size_t i) {
    const Dim &size = from[i], &target = to[to.size() - from.size() + i];
    if (size.number() != 1) demand(size, target, true);
    return !size.is_number() || size.number() == 1 || !provably_different(size, target);
  };
  bool fits = from.size() <= to.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i) fits = size_fits(i);
  if (!fits) broken(std::string(what) + " doesn't broadcast to " + to_string(tensor_fact(std::nullopt, to)));
}

void Demands::hold() const {
  if (broken_) throw Impossible{*broken_};
}

Verdict Demands::verdict() const {
  return broken_ ? Verdict{.truth = Truth::no, .message = *broken_} : Verdict{.truth = Truth::yes};
}

void demand_equal(const Dim& size, const Dim& expected, std::string_view what) {
  Demands demands;
  demands.equal(size, expected, what);
  demands.hold();
}

void demand_rank(const Call& call, std::string_view argument, std::size_t least, std::size_t most) {
  Demands demands;
  demands.rank(call, argument, least, most);
  demands.hold();
}

void demand_broadcast(const std::optional<Shape>& from, const Shape& to, std::string_view what) {
  Demands demands;
  if (from) demands.broadcasts(*from, to, what);
  demands.hold();
}

void demand_no_bools(const Call& call, std::initializer_list<const char*> arguments) {
  for (const char* argument : arguments)
    if (call.dtype_of(argument) == ir::DType::boolean)
      throw Impossible{"bools aren't subtracted: '" + std::string(argument) + "'"};
}

void demand_floating(const Call& call, const char* argument) {
  const auto dtype = call.dtype_of(argument);
  if (dtype && !ir::is_floating(*dtype) && !ir::is_complex(*dtype))
    throw Impossible{"'" + std::string(argument) + "' must be floating, but is " + std::string(ir::name(*dtype))};
}

}  // namespace compatcheck::symbolic
