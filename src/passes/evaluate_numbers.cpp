#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;

// Integers wrap around, as libtorch's do.
std::int64_t wrap(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

const bool* as_bool(const Constant& c) { return c.get<bool>(); }

std::optional<double> as_double(const Constant& c) {
  if (const auto* number = c.get<double>()) return *number;
  if (const auto* number = as_int(c)) return static_cast<double>(*number);
  return std::nullopt;
}

std::optional<std::int64_t> floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return wrap(0 - bits(a));
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<std::int64_t> remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// a OP b for two ints, else for two numbers as doubles; `aten::add(a, b, alpha)` of scalars has alpha 1 only.
template <class Ints, class Doubles>
Evaluated binary(Arguments in, Ints ints, Doubles doubles) {
  if (in.size() == 3 && !(as_int(*in[2]) && *as_int(*in[2]) == 1)) return std::nullopt;
  if (in.size() != 2 && in.size() != 3) return std::nullopt;
  if (as_int(*in[0]) && as_int(*in[1])) {
    const std::optional<std::int64_t> result = ints(*as_int(*in[0]), *as_int(*in[1]));
    return result ? Evaluated(Constant{*result}) : std::nullopt;
  }
  const auto a = as_double(*in[0]);
  const auto b = as_double(*in[1]);
  return a && b ? Evaluated(Constant{double(doubles(*a, *b))}) : std::nullopt;
}

Evaluated add(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return wrap(bits(a) + bits(b)); }, std::plus<double>());
}
Evaluated subtract(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return wrap(bits(a) - bits(b)); }, std::minus<double>());
}
Evaluated multiply(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return wrap(bits(a) * bits(b)); }, std::multiplies<double>());
}
Evaluated floor_divide(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return floor_divide(a, b); }, [](double a, double b) { return std::floor(a / b); });
}
Evaluated remainder(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return remainder(a, b); }, [](double a, double b) { return std::fmod(b + std::fmod(a, b), b); });
}
Evaluated minimum(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return std::min(a, b); }, [](double a, double b) { return a < b ? a : b; });
}
Evaluated maximum(const ir::Node&, Arguments in) {
  return binary(
      in, [](auto a, auto b) { return std::max(a, b); }, [](double a, double b) { return a > b ? a : b; });
}

// On doubles alone: true division, pow, fmod.
template <class Doubles>
Evaluated on_doubles(Arguments in, Doubles doubles) {
  if (in.size() != 2) return std::nullopt;
  const auto a = as_double(*in[0]);
  const auto b = as_double(*in[1]);
  return a && b ? Evaluated(Constant{double(doubles(*a, *b))}) : std::nullopt;
}
Evaluated divide(const ir::Node&, Arguments in) { return on_doubles(in, std::divides<double>()); }
Evaluated fmod(const ir::Node&, Arguments in) {
  return on_doubles(in, [](double a, double b) { return std::fmod(a, b); });
}
Evaluated power(const ir::Node& node, Arguments in) {
  if (!ir::is(node.output()->type(), ir::TypeKind::floating)) return std::nullopt;
  return on_doubles(in, [](double a, double b) { return std::pow(a, b); });
}

template <class Compare>
Evaluated compare(Arguments in, Compare holds) {
  if (in.size() != 2) return std::nullopt;
  if (as_int(*in[0]) && as_int(*in[1])) return Constant{bool(holds(*as_int(*in[0]), *as_int(*in[1])))};
  const auto a = as_double(*in[0]);
  const auto b = as_double(*in[1]);
  return a && b ? Evaluated(Constant{bool(holds(*a, *b))}) : std::nullopt;
}
Evaluated less(const ir::Node&, Arguments in) { return compare(in, std::less<>()); }
Evaluated less_equal(const ir::Node&, Arguments in) { return compare(in, std::less_equal<>()); }
Evaluated greater(const ir::Node&, Arguments in) { return compare(in, std::greater<>()); }
Evaluated greater_equal(const ir::Node&, Arguments in) { return compare(in, std::greater_equal<>()); }

template <class Op>
Evaluated bitwise(Arguments in, Op op) {
  if (in.size() != 2) return std::nullopt;
  if (as_bool(*in[0]) && as_bool(*in[1]))
    return Constant{op(std::int64_t{*as_bool(*in[0])}, std::int64_t{*as_bool(*in[1])}) != 0};
  if (as_int(*in[0]) && as_int(*in[1])) return Constant{std::int64_t{op(*as_int(*in[0]), *as_int(*in[1]))}};
  return std::nullopt;
}
Evaluated bit_and(const ir::Node&, Arguments in) { return bitwise(in, std::bit_and<std::int64_t>()); }
Evaluated bit_or(const ir::Node&, Arguments in) { return bitwise(in, std::bit_or<std::int64_t>()); }
Evaluated bit_xor(const ir::Node&, Arguments in) { return bitwise(in, std::bit_xor<std::int64_t>()); }

template <bool left>
Evaluated shift(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !as_int(*in[0]) || !as_int(*in[1])) return std::nullopt;
  const std::int64_t by = *as_int(*in[1]);
  if (by < 0 || by > 63) return std::nullopt;
  return Constant{left ? wrap(bits(*as_int(*in[0])) << by) : *as_int(*in[0]) >> by};
}

Evaluated logical_not(const ir::Node&, Arguments in) {
  if (in.size() != 1 || !as_bool(*in[0])) return std::nullopt;
  return Constant{!*as_bool(*in[0])};
}

Evaluated negative(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (const auto* number = as_int(*in[0])) return Constant{wrap(0 - bits(*number))};
  if (const auto* number = in[0]->get<double>()) return Constant{-*number};
  return std::nullopt;
}

Evaluated absolute(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (const auto* number = as_int(*in[0])) return Constant{*number < 0 ? wrap(0 - bits(*number)) : *number};
  if (const auto* number = in[0]->get<double>()) return Constant{std::fabs(*number)};
  return std::nullopt;
}

// Converts numbers that fit in an int; for others libtorch raises, or returns what the machine does.
Evaluated to_int(double number) {
  if (!(std::fabs(number) < 9.2e18)) return std::nullopt;
  return Constant{static_cast<std::int64_t>(number)};
}

template <double (*function)(double)>
Evaluated round_to_int(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (as_int(*in[0])) return *in[0];
  const auto* number = in[0]->get<double>();
  return number ? to_int(function(*number)) : std::nullopt;
}

template <double (*function)(double)>
Evaluated real_function(const ir::Node&, Arguments in) {
  const auto number = in.size() == 1 ? as_double(*in[0]) : std::nullopt;
  return number ? Evaluated(Constant{function(*number)}) : std::nullopt;
}

double half_to_even(double number) { return std::nearbyint(number); }

template <class T>
std::optional<T> parse(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Evaluated int_of(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (as_int(*in[0])) return *in[0];
  if (const auto* flag = as_bool(*in[0])) return Constant{std::int64_t{*flag}};
  if (const auto* number = in[0]->get<double>()) return to_int(std::trunc(*number));
  if (const auto* text = in[0]->get<std::string>())
    if (const auto value = parse<std::int64_t>(*text)) return Constant{*value};
  return std::nullopt;
}

Evaluated float_of(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (const auto number = as_double(*in[0])) return Constant{*number};
  if (const auto* flag = as_bool(*in[0])) return Constant{*flag ? 1.0 : 0.0};
  if (const auto* text = in[0]->get<std::string>())
    if (const auto value = parse<double>(*text)) return Constant{*value};
  return std::nullopt;
}

Evaluated bool_of(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (as_bool(*in[0])) return *in[0];
  const auto number = as_double(*in[0]);
  return number ? Evaluated(Constant{*number != 0}) : std::nullopt;
}

Evaluated greatest_divisor(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !as_int(*in[0]) || !as_int(*in[1])) return std::nullopt;
  const auto magnitude = [](std::int64_t number) { return number < 0 ? 0 - bits(number) : bits(number); };
  return Constant{wrap(std::gcd(magnitude(*as_int(*in[0])), magnitude(*as_int(*in[1]))))};
}

// range(low, high, step): its length, and its item at an index.
Evaluated range_length(const ir::Node&, Arguments in) {
  if (in.size() != 3 || !as_int(*in[0]) || !as_int(*in[1]) || !as_int(*in[2])) return std::nullopt;
  const std::int64_t low = *as_int(*in[0]);
  const std::int64_t high = *as_int(*in[1]);
  const std::int64_t step = *as_int(*in[2]);
  // Unsigned: the ends may be further apart than an int holds.
  if (step > 0 && low < high) return Constant{wrap(1 + (bits(high) - 1 - bits(low)) / bits(step))};
  if (step < 0 && low > high) return Constant{wrap(1 + (bits(low) - 1 - bits(high)) / (0 - bits(step)))};
  return step == 0 ? std::nullopt : Evaluated(Constant{std::int64_t{0}});
}

Evaluated range_item(const ir::Node&, Arguments in) {
  if (in.size() != 3 || !as_int(*in[0]) || !as_int(*in[1]) || !as_int(*in[2])) return std::nullopt;
  return Constant{wrap(bits(*as_int(*in[1])) + bits(*as_int(*in[0])) * bits(*as_int(*in[2])))};
}

template <bool value>
Evaluated always(const ir::Node&, Arguments in) {
  return in.empty() ? Evaluated(Constant{value}) : std::nullopt;
}

}  // namespace

const Evaluators& number_evaluators() {
  static const Evaluators table = {{"aten::add", add},
                                   {"aten::sub", subtract},
                                   {"aten::mul", multiply},
                                   {"aten::div", divide},
                                   {"aten::floordiv", floor_divide},
                                   {"aten::remainder", remainder},
                                   {"aten::fmod", fmod},
                                   {"aten::pow", power},
                                   {"prim::min", minimum},
                                   {"prim::max", maximum},
                                   {"aten::gcd", greatest_divisor},
                                   {"aten::lt", less},
                                   {"aten::le", less_equal},
                                   {"aten::gt", greater},
                                   {"aten::ge", greater_equal},
                                   {"aten::__and__", bit_and},
                                   {"aten::__or__", bit_or},
                                   {"aten::__xor__", bit_xor},
                                   {"aten::__lshift__", shift<true>},
                                   {"aten::__rshift__", shift<false>},
                                   {"aten::__not__", logical_not},
                                   {"aten::neg", negative},
                                   {"prim::abs", absolute},
                                   {"aten::floor", round_to_int<std::floor>},
                                   {"aten::ceil", round_to_int<std::ceil>},
                                   {"aten::round", real_function<half_to_even>},
                                   {"aten::sqrt", real_function<std::sqrt>},
                                   {"aten::exp", real_function<std::exp>},
                                   {"aten::log", real_function<std::log>},
                                   {"aten::log10", real_function<std::log10>},
                                   {"aten::log1p", real_function<std::log1p>},
                                   {"aten::sin", real_function<std::sin>},
                                   {"aten::cos", real_function<std::cos>},
                                   {"aten::tan", real_function<std::tan>},
                                   {"aten::Int", int_of},
                                   {"aten::Float", float_of},
                                   {"aten::Bool", bool_of},
                                   {"aten::__range_length", range_length},
                                   {"aten::__derive_index", range_item},
                                   // The values in a plain call of the model.
                                   {"aten::is_scripting", always<true>},
                                   {"aten::is_autocast_enabled", always<false>},
                                   {"aten::is_autocast_cpu_enabled", always<false>}};
  return table;
}

}  // namespace compatcheck::passes
