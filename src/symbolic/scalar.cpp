// Python's numbers: arithmetic, comparisons, conversions: facts.
#include "symbolic/scalar.h"

#include <cmath>

#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using Kind = NumberFact::Kind;

bool is_float(const NumberFact& number) { return number.kind == Kind::floating; }

// The result kind by the schema: int, float or bool; a Scalar has its operands' kind.
std::optional<Kind> result_kind(const Call& call) {
  const auto* schema = call.node().schema();
  if (!schema || schema->returns.empty()) return std::nullopt;
  switch (schema->returns.front().type->kind) {
    case ir::TypeKind::integer: return Kind::integer;
    case ir::TypeKind::floating: return Kind::floating;
    case ir::TypeKind::boolean: return Kind::boolean;
    case ir::TypeKind::number: break;
    default: return std::nullopt;
  }
  auto kind = Kind::integer;
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    const auto* operand = call.input(i).number();
    if (!operand) return std::nullopt;
    if (is_float(*operand)) kind = Kind::floating;
  }
  return kind;
}

}  // namespace

NumberFact number_at(const Call& call, std::size_t i) {
  if (i >= call.node().inputs().size()) return {};
  const Fact& fact = call.input(i);
  if (const auto* number = fact.number()) return *number;
  const auto* tensor = fact.tensor();
  if (tensor && tensor->contents && tensor->contents->size() == 1)
    return {.kind = Kind::integer, .integer = tensor->contents->front()};
  if (tensor && tensor->fraction) return {.kind = Kind::floating, .integer = {}, .floating = tensor->fraction};
  return {};
}

std::optional<double> as_double(const NumberFact& number) {
  if (is_float(number)) return number.floating;
  if (number.integer && number.integer->is_number()) return static_cast<double>(*number.integer->number());
  return std::nullopt;
}

std::optional<ir::Constant> constant_of(const NumberFact& number) {
  if (number.floating) return ir::Constant{*number.floating};
  const auto whole = number.integer ? number.integer->number() : std::nullopt;
  if (!whole) return std::nullopt;
  return number.kind == Kind::boolean ? ir::Constant{*whole != 0} : ir::Constant{*whole};
}

namespace {

// ---- Arithmetic

using OnDims = Dim (*)(const Dim&, const Dim&);
using OnDoubles = double (*)(double, double);

Facts arithmetic(const Call& call, OnDims dims, OnDoubles doubles) {
  const NumberFact a = number_at(call, 0), b = number_at(call, 1);
  const auto kind = result_kind(call);
  if (kind == Kind::floating || (!kind && (is_float(a) || is_float(b)))) {
    const auto x = as_double(a), y = as_double(b);
    return {floating_fact(x && y ? std::optional(doubles(*x, *y)) : std::nullopt)};
  }
  if (kind != Kind::integer) return {};
  return {integer_fact(a.integer && b.integer && !is_float(a) && !is_float(b) ? dims(*a.integer, *b.integer) : Dim::unknown())};
}

Facts add_numbers(const Call& call) {
  return arithmetic(
      call, [](const Dim& a, const Dim& b) { return a + b; }, [](double a, double b) { return a + b; });
}
Facts subtract(const Call& call) {
  return arithmetic(
      call, [](const Dim& a, const Dim& b) { return a - b; }, [](double a, double b) { return a - b; });
}
Facts multiply(const Call& call) {
  return arithmetic(
      call, [](const Dim& a, const Dim& b) { return a * b; }, [](double a, double b) { return a * b; });
}
Facts floor_divide(const Call& call) {
  return arithmetic(call, floor_div, [](double a, double b) { return std::floor(a / b); });
}
Facts remainder(const Call& call) {
  return arithmetic(call, modulo, [](double a, double b) { return std::fmod(b + std::fmod(a, b), b); });  // as TorchScript
}
Facts maximum(const Call& call) {
  return arithmetic(call, larger, [](double a, double b) { return b > a ? b : a; });
}
Facts minimum(const Call& call) {
  return arithmetic(call, smaller, [](double a, double b) { return b < a ? b : a; });
}

Facts divide(const Call& call) {
  const auto a = as_double(number_at(call, 0)), b = as_double(number_at(call, 1));
  return {floating_fact(a && b && *b != 0 ? std::optional(*a / *b) : std::nullopt)};
}

Facts power(const Call& call) {
  const auto kind = result_kind(call);
  const auto a = as_double(number_at(call, 0)), b = as_double(number_at(call, 1));
  if (kind == Kind::floating) return {floating_fact(a && b ? std::optional(std::pow(*a, *b)) : std::nullopt)};
  if (kind != Kind::integer) return {};
  const double value = a && b && *b >= 0 ? std::pow(*a, *b) : 1e300;
  return {integer_fact(std::abs(value) < 9e15 ? Dim(static_cast<std::int64_t>(value)) : Dim::unknown())};
}

Facts negate(const Call& call) {
  const NumberFact a = number_at(call, 0);
  if (is_float(a)) return {floating_fact(a.floating ? std::optional(-*a.floating) : std::nullopt)};
  if (result_kind(call) != Kind::integer) return {};
  return {integer_fact(a.integer ? Dim(-1) * *a.integer : Dim::unknown())};
}

// floor, ceil: return an int, also for a Scalar (a float or an int).
template <double (*round)(double)>
Facts rounded_to_int(const Call& call) {
  const NumberFact a = number_at(call, 0);
  if (!is_float(a)) return {integer_fact(a.integer.value_or(Dim::unknown()))};
  return {integer_fact(a.floating && std::abs(*a.floating) < 9e15 ? Dim(static_cast<std::int64_t>(round(*a.floating)))
                                                                  : Dim::unknown())};
}

Facts absolute(const Call& call) {
  const NumberFact a = number_at(call, 0);
  if (is_float(a)) return {floating_fact(a.floating ? std::optional(std::abs(*a.floating)) : std::nullopt)};
  if (result_kind(call) != Kind::integer) return {};
  const bool positive = a.integer && provably_at_least(*a.integer, 0);
  if (positive || !a.integer || !a.integer->is_number()) return {integer_fact(positive ? *a.integer : Dim::unknown())};
  return {integer_fact(Dim(-1) * *a.integer)};
}

// Functions of floats; whatever they get.
Facts floating_result(const Call& call) {
  if (!result_kind(call)) return {};
  return {floating_fact(std::nullopt)};
}

Facts magnitude_of_x(const Call& call) { return {real_fact(tensor_of(call, "x"))}; }

// ---- Comparisons

// Whether a < b (or a ≤ b), if that can be proved.
std::optional<bool> is_less(const NumberFact& a, const NumberFact& b, bool or_equal) {
  if (is_float(a) || is_float(b)) {
    const auto x = as_double(a), y = as_double(b);
    if (!x || !y) return std::nullopt;
    return or_equal ? *x <= *y : *x < *y;
  }
  if (!a.integer || !b.integer) return std::nullopt;
  if (provably_at_least_if_empty(*b.integer - *a.integer, or_equal ? 0 : 1)) return true;
  if (provably_at_least_if_empty(*a.integer - *b.integer, or_equal ? 1 : 0)) return false;
  return std::nullopt;
}

std::optional<bool> is_equal(const NumberFact& a, const NumberFact& b) {
  if (is_float(a) || is_float(b)) {
    const auto x = as_double(a), y = as_double(b);
    return x && y ? std::optional(*x == *y) : std::nullopt;
  }
  if (!a.integer || !b.integer) return std::nullopt;
  if (provably_equal(*a.integer, *b.integer)) return true;
  const bool apart = provably_different(*a.integer, *b.integer) || is_less(a, b, false) == true || is_less(b, a, false) == true;
  return apart ? std::optional(false) : std::nullopt;
}

std::optional<bool> inverted(std::optional<bool> value) { return value ? std::optional(!*value) : value; }

Facts less(const Call& call) { return {boolean_fact(is_less(number_at(call, 0), number_at(call, 1), false))}; }
Facts less_equal(const Call& call) { return {boolean_fact(is_less(number_at(call, 0), number_at(call, 1), true))}; }
Facts greater(const Call& call) { return {boolean_fact(is_less(number_at(call, 1), number_at(call, 0), false))}; }
Facts greater_equal(const Call& call) { return {boolean_fact(is_less(number_at(call, 1), number_at(call, 0), true))}; }

// The passes fold strings and devices.
bool on_numbers(const Call& call) { return call.input(0).number() && call.input(1).number(); }
Facts equal_numbers(const Call& call) {
  return {boolean_fact(on_numbers(call) ? is_equal(number_at(call, 0), number_at(call, 1)) : std::nullopt)};
}
Facts different_numbers(const Call& call) {
  return {boolean_fact(on_numbers(call) ? inverted(is_equal(number_at(call, 0), number_at(call, 1))) : std::nullopt)};
}

// ---- Truth values

std::optional<bool> truth_of(const NumberFact& number) {
  if (is_float(number)) return number.floating ? std::optional(*number.floating != 0) : std::nullopt;
  if (!number.integer) return std::nullopt;
  if (number.integer->is_number()) return *number.integer->number() != 0;
  return provably_at_least_if_empty(*number.integer, 1) ? std::optional(true) : std::nullopt;
}

Facts negation(const Call& call) { return {boolean_fact(inverted(truth_of(number_at(call, 0))))}; }

// Bits of ints, if both are known.
using OnInts = std::int64_t (*)(std::int64_t, std::int64_t);
Facts bits(const Call& call, OnInts on_ints) {
  const NumberFact a = number_at(call, 0), b = number_at(call, 1);
  const auto x = a.integer ? a.integer->number() : std::nullopt, y = b.integer ? b.integer->number() : std::nullopt;
  return {integer_fact(x && y ? Dim(on_ints(*x, *y)) : Dim::unknown())};
}

Facts conjunction(const Call& call) {
  if (result_kind(call) == Kind::integer) return bits(call, [](std::int64_t a, std::int64_t b) { return a & b; });
  if (result_kind(call) != Kind::boolean) return {};
  const auto a = truth_of(number_at(call, 0)), b = truth_of(number_at(call, 1));
  if (a == false || b == false) return {boolean_fact(false)};
  return {boolean_fact(a && b ? std::optional(true) : std::nullopt)};
}

Facts disjunction(const Call& call) {
  if (result_kind(call) == Kind::integer) return bits(call, [](std::int64_t a, std::int64_t b) { return a | b; });
  if (result_kind(call) != Kind::boolean) return {};
  const auto a = truth_of(number_at(call, 0)), b = truth_of(number_at(call, 1));
  if (a == true || b == true) return {boolean_fact(true)};
  return {boolean_fact(a && b ? std::optional(false) : std::nullopt)};
}

Facts exclusion(const Call& call) {
  if (result_kind(call) == Kind::integer) return bits(call, [](std::int64_t a, std::int64_t b) { return a ^ b; });
  if (result_kind(call) != Kind::boolean) return {};
  const auto a = truth_of(number_at(call, 0)), b = truth_of(number_at(call, 1));
  return {boolean_fact(a && b ? std::optional(*a != *b) : std::nullopt)};
}

// Shifts by a known number of bits: a product, or a quotient rounded down.
Facts shifted(const Call& call, OnDims dims) {
  const auto a = number_at(call, 0).integer, b = number_at(call, 1).integer;
  const auto by = b ? b->number() : std::nullopt;
  const bool known = a && by && *by >= 0 && *by < 63;
  return {integer_fact(known ? dims(*a, Dim(std::int64_t{1} << *by)) : Dim::unknown())};
}
Facts shifted_left(const Call& call) {
  return shifted(call, [](const Dim& a, const Dim& b) { return a * b; });
}
Facts shifted_right(const Call& call) { return shifted(call, floor_div); }

// ---- Tests of floats

template <bool (*test)(double)>
Facts tested(const Call& call) {
  const auto number = as_double(number_at(call, 0));
  return {boolean_fact(number ? std::optional(test(*number)) : std::nullopt)};
}

bool is_nan(double number) { return std::isnan(number); }
bool is_infinite(double number) { return std::isinf(number); }
bool is_finite(double number) { return std::isfinite(number); }

// `is` and `is not`, where one side is None.
std::optional<bool> is_same(const Call& call) {
  const Fact &a = call.input(0), &b = call.input(1);
  const auto unknown = [](const Fact& fact) { return std::holds_alternative<std::monostate>(fact.value); };
  if (unknown(a) || unknown(b) || (!a.is_none() && !b.is_none())) return std::nullopt;
  return a.is_none() && b.is_none();
}
Facts identical(const Call& call) { return {boolean_fact(is_same(call))}; }
Facts not_identical(const Call& call) { return {boolean_fact(inverted(is_same(call)))}; }

// ---- Ranges of loops

Facts loop_length(const Call& call) {
  const auto low = number_at(call, 0).integer, high = number_at(call, 1).integer, step = number_at(call, 2).integer;
  if (!low || !high || !step || !step->is_number() || *step->number() <= 0) return {integer_fact(Dim::unknown())};
  const Dim span = *high - *low;
  if (span.is_number()) return {integer_fact(*span.number() > 0 ? ceil_div(span, *step) : Dim(0))};
  return {integer_fact(provably_at_least(span, 0) ? ceil_div(span, *step) : Dim::unknown())};
}

Facts derive_index(const Call& call) {
  const auto index = number_at(call, 0).integer, start = number_at(call, 1).integer, step = number_at(call, 2).integer;
  return {integer_fact(index && start && step ? *start + *index * *step : Dim::unknown())};
}

}  // namespace

Facts to_int(const Call& call) {
  const NumberFact a = number_at(call, 0);
  if (!is_float(a)) return {integer_fact(a.integer.value_or(Dim::unknown()))};
  return {
      integer_fact(a.floating && std::abs(*a.floating) < 9e15 ? Dim(static_cast<std::int64_t>(*a.floating)) : Dim::unknown())};
}

Facts to_floating(const Call& call) { return {floating_fact(as_double(number_at(call, 0)))}; }

Facts to_boolean(const Call& call) { return {boolean_fact(truth_of(number_at(call, 0)))}; }

void register_scalar(Registry& registry) {
  const std::pair<const char*, FactFunction> on_numbers[] = {{"aten::add", add_numbers},
                                                             {"aten::sub", subtract},
                                                             {"aten::mul", multiply},
                                                             {"aten::div", divide},
                                                             {"aten::floordiv", floor_divide},
                                                             {"aten::remainder", remainder},
                                                             {"aten::pow", power},
                                                             {"aten::neg", negate},
                                                             {"aten::floor", rounded_to_int<std::floor>},
                                                             {"aten::ceil", rounded_to_int<std::ceil>},
                                                             {"prim::abs", absolute},
                                                             {"prim::max", maximum},
                                                             {"prim::min", minimum},
                                                             {"aten::lt", less},
                                                             {"aten::le", less_equal},
                                                             {"aten::gt", greater},
                                                             {"aten::ge", greater_equal},
                                                             {"aten::eq", equal_numbers},
                                                             {"aten::ne", different_numbers},
                                                             {"aten::__and__", conjunction},
                                                             {"aten::__or__", disjunction},
                                                             {"aten::__xor__", exclusion},
                                                             {"aten::__lshift__", shifted_left},
                                                             {"aten::__rshift__", shifted_right},
                                                             {"aten::isnan", tested<is_nan>},
                                                             {"aten::isinf", tested<is_infinite>},
                                                             {"aten::isfinite", tested<is_finite>},
                                                             {"aten::__not__", negation},
                                                             {"aten::Bool", to_boolean},
                                                             {"aten::Int", to_int},
                                                             {"aten::Float", to_floating},
                                                             {"aten::__range_length", loop_length},
                                                             {"aten::__derive_index", derive_index}};
  for (const auto& [op, function] : on_numbers) registry.number_facts(op, function);
  for (const char* op :
       {"aten::round",   "aten::sqrt",    "aten::exp",   "aten::expm1",  "aten::log",   "aten::log10", "aten::log1p",
        "aten::sin",     "aten::cos",     "aten::tan",   "aten::asin",   "aten::acos",  "aten::atan",  "aten::sinh",
        "aten::cosh",    "aten::tanh",    "aten::asinh", "aten::acosh",  "aten::atanh", "aten::erf",   "aten::erfc",
        "aten::degrees", "aten::radians", "aten::fabs",  "aten::lgamma", "aten::ldexp"})
    registry.number_facts(op, floating_result);
  registry.facts("aten::__is__", identical);
  registry.facts("aten::__isnot__", not_identical);
  registry.facts("prim::abs", magnitude_of_x);
}

}  // namespace compatcheck::symbolic
