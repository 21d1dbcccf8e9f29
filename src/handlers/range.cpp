// Ranges, evenly spaced numbers, and windows for signals.
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

void give_constant(Emission& e, const std::vector<double>& numbers) {
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {static_cast<std::int64_t>(numbers.size())}, numbers)));
}

// ---- arange

bool is_whole(const Emission& e, std::string_view argument) {
  if (!e.call.has(argument)) return true;
  const DType dtype = e.dtype(argument);
  return ir::is_integral(dtype) || dtype == DType::boolean;
}

// An integer result truncates its bounds first. An integer argument may have more digits than a double.
std::optional<std::int64_t> whole_number(const Emission& e, std::string_view argument) {
  if (!e.call.has(argument)) return std::nullopt;
  const auto integer = e.call.integer(argument);
  if (integer) return integer;
  const double number = *e.call.number(argument);
  if (!(std::abs(number) < 0x1p63)) throw Refusal{"a bound of a range is no 64-bit integer"};
  return static_cast<std::int64_t>(number);
}

void give_whole_range(Emission& e, std::int64_t start, std::int64_t end, std::int64_t step) {
  // A long double holds every i64, and the product wraps around where the sum doesn't.
  const long double length =
      std::ceil((static_cast<long double>(end) - static_cast<long double>(start)) / static_cast<long double>(step));
  const auto numbers = ir::listed<std::int64_t>(static_cast<double>(length), [&](double i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
  });
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {static_cast<std::int64_t>(numbers.size())}, numbers)));
}

Value argument_or(Emission& e, std::string_view argument, DType dtype, int otherwise) {
  return e.call.has(argument) ? e.number_value(argument, dtype) : e.scalar(dtype, otherwise);
}

// ⌈(end − start) / step⌉ numbers, counted before opset 11.
Value counted_range(Emission& e, DType dtype, const Value& start, const Value& end, const Value& step) {
  const auto one = e.call.has("step") ? e.call.number("step") == 1.0 : true;
  Value length = e.call.has("start") ? e.node("Sub", {end, start}) : end;
  if (!one || ir::is_floating(dtype)) {
    length = e.cast(length, DType::f64);
    if (!one) length = e.node("Div", {length, e.cast(step, DType::f64)});
    length = e.cast(e.node("Ceil", {length}), DType::i64);
  }
  Value numbers = e.cast(counting(e, e.build.reshape(length, {1})), dtype);
  if (!one) numbers = e.node("Mul", {numbers, step});
  return e.call.has("start") ? e.node("Add", {numbers, start}) : numbers;
}

void arange(Emission& e) {
  const bool whole_result = !ir::is_floating(e.output_dtype());
  const bool whole = whole_result || (is_whole(e, "start") && is_whole(e, "end") && is_whole(e, "step"));
  const auto start = e.call.has("start") ? e.call.number("start") : 0, end = e.call.number("end"),
             step = e.call.has("step") ? e.call.number("step") : 1;
  if (start && end && step && whole)
    return give_whole_range(e, whole_number(e, "start").value_or(0), *whole_number(e, "end"),
                            whole_number(e, "step").value_or(1));
  if (start && end && step) {
    return give_constant(e, ir::listed<double>(std::ceil((*end - *start) / *step), [&](double i) { return *start + i * *step; }));
  }
  const DType dtype = whole ? DType::i64 : DType::f64;
  const Value from = argument_or(e, "start", dtype, 0), to = e.number_value("end", dtype), by = argument_or(e, "step", dtype, 1);
  e.give(e.at_least(11) ? e.node("Range", {from, to, by}) : counted_range(e, dtype, from, to, by));
}

void dim_arange(Emission& e) { e.give(counting(e, e.size_of("like", e.axis("dim", "like")))); }

// torch.range: the end is in it.
void range_with_end(Emission& e) {
  const auto start = e.call.number("start"), end = e.call.number("end"), step = e.call.has("step") ? e.call.number("step") : 1;
  if (start && end && step) {
    return give_constant(
        e, ir::listed<double>(std::trunc((*end - *start) / *step) + 1, [&](double i) { return *start + i * *step; }));
  }
  const Value from = e.number_value("start", DType::f64), by = argument_or(e, "step", DType::f64, 1);
  const Value steps = e.node("Floor", {e.node("Div", {e.node("Sub", {e.number_value("end", DType::f64), from}), by})});
  const Value count = sum(e, e.build.reshape(e.cast(steps, DType::i64), {1}), e.integers({1}));
  e.give(e.node("Add", {e.node("Mul", {e.cast(counting(e, count), DType::f64), by}), from}));
}

// ---- Evenly spaced: the first half is counted from the start, the other from the end, as PyTorch does

struct Spaced {
  double start, end, step;
  std::int64_t count;
};

bool is_whole_number(const Emission& e, std::string_view argument) {
  const auto* number = e.call.fact(argument).number();
  const auto known = e.call.number(argument);
  return (number && number->kind == symbolic::NumberFact::Kind::integer) || (known && *known == std::trunc(*known));
}

double at(const Spaced& s, double i) {
  if (s.count == 1) return s.start;
  const auto count = static_cast<double>(s.count);
  return i < std::floor(count / 2) ? s.start + s.step * i : s.end - s.step * (count - 1 - i);
}

std::optional<Spaced> known_spaced(Emission& e) {
  auto start = e.call.number("start"), end = e.call.number("end");
  const auto count = e.call.integer("steps");
  if (!start || !end || !count) return std::nullopt;
  if (!ir::is_floating(e.output_dtype())) start = std::trunc(*start), end = std::trunc(*end);
  return Spaced{*start, *end, *count > 1 ? (*end - *start) / static_cast<double>(*count - 1) : 0, *count};
}

// Whole numbers are spaced in f64.
Value spaced(Emission& e) {
  const bool whole = !ir::is_floating(e.output_dtype());
  const DType dtype = whole ? DType::f64 : e.output_dtype();
  const auto bound = [&](std::string_view argument) {
    const Value value = whole ? e.cast(e.number_value(argument, DType::i64), dtype) : e.number_value(argument, dtype);
    return e.call.rank(argument).value_or(0) == 0 ? value : e.build.reshape(value, {});
  };
  const Value start = bound("start"), end = bound("end");
  if (const auto count = e.call.integer("steps")) {
    if (*count < 2)
      return *count == 1 ? e.build.reshape(start, {1}) : e.build.constant({.dtype = dtype, .dims = {0}, .bytes = {}, .view = {}});
    const Value step = e.node("Div", {e.node("Sub", {end, start}), e.scalar(dtype, *count - 1)});
    const std::int64_t in_front = *count / 2;
    const auto half = static_cast<double>(in_front), others = static_cast<double>(*count - in_front);
    const Doubles first = ir::listed<double>(half, [](double i) { return i; }),
                  last = ir::listed<double>(others, [&](double i) { return others - 1 - i; });
    const auto vector = [&](const std::vector<double>& numbers) {
      return e.build.constant(onnx::make_tensor(dtype, {static_cast<std::int64_t>(numbers.size())}, numbers));
    };
    return e.build.concat(
        {e.node("Add", {e.node("Mul", {vector(first), step}), start}), e.node("Sub", {end, e.node("Mul", {vector(last), step})})},
        0);
  }
  const Value count = int_value(e, "steps"), places = counting(e, count),
              last = e.build.squeeze(difference(e, count, e.integers({1})), {0});
  const Value single = e.cast(e.node("Equal", {count, e.integers({1})}), DType::i64);  // only the start, without a step
  const Value half = e.node("Div", {sum(e, count, single), e.integers({2})});
  const Value in_front = e.node("Less", {e.cast(places, DType::f64), e.cast(half, DType::f64)});
  const Value steps = e.node("Add", {last, e.build.squeeze(single, {0})});
  const Value step = e.node("Div", {e.node("Sub", {end, start}), e.cast(steps, dtype)});
  const Value from = e.node("Where", {in_front, start, end}),
              by = e.node("Where", {in_front, places, e.node("Sub", {places, last})});
  return e.node("Add", {from, e.node("Mul", {step, e.cast(by, dtype)})});
}

void linspace(Emission& e) {
  const auto known = known_spaced(e);
  if (!known) return e.give(spaced(e));
  give_constant(e, ir::listed<double>(static_cast<double>(known->count), [&](double i) { return at(*known, i); }));
}

// Powers of the base; whole ones step in f32 and from the start alone. A single one is of the start as it is.
void logspace(Emission& e) {
  const double base = e.number("base");
  const auto known = known_spaced(e);
  const bool whole = !ir::is_floating(e.output_dtype());
  const bool single = e.call.integer("steps") == 1;
  if (!known) {
    if (whole && !e.call.integer("steps") && !is_whole_number(e, "start"))
      throw Refusal{"whole numbers between bounds that may have a fraction need a known number of steps"};
    const DType dtype = whole ? DType::f64 : e.output_dtype();
    const Value power = whole && single ? e.build.reshape(e.number_value("start", dtype), {1}) : spaced(e);
    return e.give(e.node("Pow", {e.scalar(dtype, base), power}));
  }
  give_constant(e, ir::listed<double>(static_cast<double>(known->count), [&](double i) {
                  const double power =
                      single  ? *e.call.number("start")
                      : whole ? known->start + static_cast<double>(static_cast<float>(known->step) * static_cast<float>(i))
                              : at(*known, i);
                  return std::pow(base, power);
                }));
}

// ---- Windows

// A window's numbers between 0 and 1: while converting, and of a length that is known only when the model runs.
struct WindowShape {
  std::function<double(double)> number;
  std::function<Value(const Value&)> value;
};

// In double, as those of known length. A single number is 1.
Value computed_window(Emission& e, const WindowShape& window, bool periodic) {
  const Value count = int_value(e, "window_length");
  const Value last = periodic ? count : difference(e, count, e.integers({1}));
  const Value made = window.value(divide(e, e.cast(counting(e, count), DType::f64), e.cast(last, DType::f64)));
  return where(e, e.node("Equal", {count, e.integers({1})}), e.scalar(DType::f64, 1), made);
}

void give_window(Emission& e, const WindowShape& window) {
  const bool periodic = !e.call.has("periodic") || e.boolean("periodic");
  if (!e.call.integer("window_length")) return e.give(computed_window(e, window, periodic));
  const auto count = static_cast<double>(e.integer("window_length"));
  const double last = periodic ? count : count - 1;
  give_constant(e, ir::listed<double>(count, [&](double i) { return count == 1 ? 1 : window.number(i / last); }));
}

// a + b · cos(2πx) + c · cos(4πx)
void cosine_window(Emission& e, double a, double b, double c = 0) {
  const auto number = [=](double x) {
    return a + b * std::cos(2 * std::numbers::pi * x) + c * std::cos(4 * std::numbers::pi * x);
  };
  const auto wave = [&e](const Value& x, double turns, double height) {
    return times(e, e.node("Cos", {times(e, x, 2 * std::numbers::pi * turns)}), height);
  };
  const auto value = [&](const Value& x) {
    const Value made = plus(e, wave(x, 1, b), a);
    return c == 0 ? made : add(e, made, wave(x, 2, c));
  };
  give_window(e, {number, value});
}

void hann_window(Emission& e) { cosine_window(e, 0.5, -0.5); }

void hamming_window(Emission& e) {
  const double alpha = e.call.has("alpha") ? e.number("alpha") : 0.54, beta = e.call.has("beta") ? e.number("beta") : 0.46;
  cosine_window(e, alpha, -beta);
}

void blackman_window(Emission& e) { cosine_window(e, 0.42, -0.5, 0.08); }

void bartlett_window(Emission& e) {
  give_window(e, {[](double x) { return 1 - std::abs(2 * x - 1); },
                  [&](const Value& x) { return plus(e, negated(e, absolute(e, plus(e, times(e, x, 2), -1))), 1); }});
}

// The modified Bessel function of order 0 is a series of powers of (x / 2)², with these terms at x.
std::vector<double> bessel_i0_terms(double x) {
  std::vector<double> terms{1};
  double total = 1;
  for (int k = 1; k < 500 && terms.back() > total * 1e-17; ++k) {
    terms.push_back(terms.back() * (x * x / (4.0 * k * k)));
    total += terms.back();
  }
  return terms;
}

double bessel_i0(double x) {
  const std::vector<double> terms = bessel_i0_terms(x);
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

// I₀(β √u) / I₀(β), where u is 1 in the middle and 0 at the ends.
void kaiser_window(Emission& e) {
  const double beta = e.call.has("beta") ? e.number("beta") : 12;
  const auto number = [=](double x) {
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - (2 * x - 1) * (2 * x - 1)))) / bessel_i0(beta);
  };
  const auto value = [&](const Value& x) {
    const Value from_middle = plus(e, times(e, x, 2), -1);
    const Value u = maximum(e, plus(e, negated(e, multiply(e, from_middle, from_middle)), 1), e.scalar(x.dtype, 0));
    std::vector<double> terms = bessel_i0_terms(beta), exponents(terms.size());
    const double total = bessel_i0(beta);
    for (double& term : terms) term /= total;
    std::iota(exponents.begin(), exponents.end(), 0);
    const auto vector = [&](const std::vector<double>& numbers) {
      return e.build.constant(onnx::make_tensor(x.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers));
    };
    return e.node("MatMul", {e.node("Pow", {e.build.unsqueeze(u, {1}), vector(exponents)}), vector(terms)});
  };
  give_window(e, {number, value});
}

}  // namespace

void register_range(Registry& registry) {
  registry.handler("aten::arange", arange);
  registry.handler("aten::_dim_arange", dim_arange);
  registry.handler("aten::range", range_with_end);
  registry.handler("aten::linspace", linspace);
  registry.handler("aten::logspace", logspace);
  registry.handler("aten::hann_window", hann_window);
  registry.handler("aten::hamming_window", hamming_window);
  registry.handler("aten::blackman_window", blackman_window);
  registry.handler("aten::bartlett_window", bartlett_window);
  registry.handler("aten::kaiser_window", kaiser_window);
}

}  // namespace compatcheck::handlers
