// Random numbers: of the same distribution and shape, never the same numbers.
#include <cmath>
#include <numbers>

#include "handlers/double_forms.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ONNX draws only floats; others are cast.
DType drawn_dtype(DType result) { return result == DType::f64 ? DType::f64 : DType::f32; }

// Draws numbers of the given sizes, or as many as `self` has. `op` is RandomUniform or RandomNormal.
Value drawn(Emission& e, const std::string& op, const Arguments& parameters, DType dtype) {
  Arguments attributes = parameters;
  attributes.push_back({"dtype", onnx::data_type(dtype)});
  Value like;
  if (e.call.has("size")) {
    if (const auto sizes = e.call.ints("size")) {
      attributes.push_back({"shape", sizes->empty() ? Ints{1} : *sizes});  // ONNX draws no scalars
      const Value numbers = e.node(op, {}, attributes, dtype);
      return sizes->empty() ? e.build.squeeze(numbers, {0}) : numbers;
    }
    like = filled(e, e.int_vector("size"), e.scalar(DType::f32, 0));
  } else
    like = e.tensor(e.call.has("self") ? "self" : "mean");
  return e.node(op + "Like", {like}, attributes, dtype);
}

// Numbers from 0 up to 1, without 1: a logarithm that follows reads 1 − u.
Value uniform_numbers(Emission& e, DType dtype) { return drawn(e, "RandomUniform", {}, dtype); }
DType result_dtype(Emission& e) { return drawn_dtype(e.output_dtype()); }

void rand(Emission& e) { e.give(uniform_numbers(e, result_dtype(e))); }
void randn(Emission& e) { e.give(drawn(e, "RandomNormal", {}, result_dtype(e))); }

void uniform(Emission& e) {
  e.give(drawn(e, "RandomUniform", {{"low", e.number("from")}, {"high", e.number("to")}}, result_dtype(e)));
}

// ---- Whole numbers from low up to high, without high

void give_whole(Emission& e, const Value& low, const Value& high) {
  const DType dtype = DType::f64;
  const Value from = e.cast(low, dtype), span = e.node("Sub", {e.cast(high, dtype), from});
  const Value places = e.node("Floor", {e.node("Mul", {uniform_numbers(e, dtype), span})});
  e.give(e.node("Add", {places, from}));
}

void randint(Emission& e) {
  const Value low = e.call.has("low") ? e.number_value("low", DType::i64) : e.build.integer(0);
  give_whole(e, low, e.number_value("high", DType::i64));
}

// The number up to which the dtype represents every integer; of i64 that of f64, in which numbers are drawn.
std::int64_t most_of(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::u8: return 255;
    case DType::i8: return 127;
    case DType::i16: return 32767;
    case DType::i32: return 2147483647;
    case DType::f16: return 2048;
    case DType::bf16: return 256;
    case DType::f32: return std::int64_t{1} << 24;
    default: return std::int64_t{1} << 53;
  }
}

// From 0 to 2^63 - 1, of two parts: f64 has 53 bits.
Value any_positive(Emission& e) {
  const auto bits = [&](std::int64_t count) {
    const Value part = e.node("Mul", {uniform_numbers(e, DType::f64), e.scalar(DType::f64, std::exp2(count))});
    return e.cast(e.node("Floor", {part}), DType::i64);
  };
  return e.node("Add", {e.node("Mul", {bits(31), e.build.integer(std::int64_t{1} << 32)}), bits(32)});
}

void random(Emission& e) {
  const bool to_given = e.call.has("to") && e.given("to");
  if (!to_given && !e.call.has("from") && e.output_dtype() == DType::i64) return e.give(any_positive(e));
  const Value low = e.call.has("from") ? e.number_value("from", DType::i64) : e.build.integer(0);
  give_whole(e, low, to_given ? e.number_value("to", DType::i64) : e.build.integer(most_of(e.output_dtype()) + 1));
}

// ---- Other distributions

void normal(Emission& e) {
  if (e.call.has("size") || e.call.has("self"))
    return e.give(drawn(e, "RandomNormal", {{"mean", e.number("mean")}, {"scale", e.number("std")}}, result_dtype(e)));
  const DType dtype = result_dtype(e);
  const Value mean = e.number_value("mean", dtype), deviation = e.number_value("std", dtype);
  const bool tensors = e.call.tensor("mean") && e.call.tensor("std");
  const Value like = tensors ? e.node("Add", {mean, deviation}) : e.call.tensor("mean") ? mean : deviation;
  const Value numbers = e.node("RandomNormalLike", {like}, {{"dtype", onnx::data_type(dtype)}}, dtype);
  e.give(e.node("Add", {e.node("Mul", {numbers, deviation}), mean}));
}

// True with the probability: where a uniform number lies below it.
void bernoulli(Emission& e) {
  const Value self = e.tensor("self");
  const DType dtype = DType::f32;
  const Value chance = e.call.has("p") ? e.number_value("p", dtype) : e.cast(self, dtype);
  e.give(e.node("Less", {uniform_numbers(e, dtype), chance}));
}

Value log_of_uniform(Emission& e, DType dtype) {
  return e.node("Log", {e.node("Sub", {e.scalar(dtype, 1), uniform_numbers(e, dtype)})});
}

void exponential_numbers(Emission& e) {
  const DType dtype = result_dtype(e);
  e.give(e.node("Div", {log_of_uniform(e, dtype), e.scalar(dtype, -e.number("lambd"))}));
}

void geometric(Emission& e) {
  const DType dtype = result_dtype(e);
  e.give(e.node("Ceil", {e.node("Div", {log_of_uniform(e, dtype), e.scalar(dtype, std::log1p(-e.number("p")))})}));
}

void log_normal(Emission& e) {
  e.give(e.node("Exp", {drawn(e, "RandomNormal", {{"mean", e.number("mean")}, {"scale", e.number("std")}}, result_dtype(e))}));
}

void cauchy(Emission& e) {
  const DType dtype = result_dtype(e);
  const Value turn =
      e.node("Mul", {e.node("Sub", {uniform_numbers(e, dtype), e.scalar(dtype, 0.5)}), e.scalar(dtype, std::numbers::pi)});
  e.give(e.node("Add",
                {e.node("Mul", {tangent(e, turn), e.scalar(dtype, e.number("sigma"))}), e.scalar(dtype, e.number("median"))}));
}

// ---- Choices

// Draws with replacement by Multinomial, from unnormalized logarithms; without, by the largest log(u)/weight, which draws each
// element in proportion to its weight.
void multinomial(Emission& e) {
  const bool vector = e.rank("self") == 1;
  const Value given = e.tensor("self", DType::f32), weights = vector ? e.build.unsqueeze(given, {0}) : given;
  Value made;
  if (e.variant("operator")) {
    made = e.node("Multinomial", {e.node("Log", {weights})},
                  {{"sample_size", e.integer("num_samples")}, {"dtype", onnx::data_type(DType::i64)}}, DType::i64);
  } else {
    const Value uniform = e.node("RandomUniformLike", {weights}, {{"dtype", onnx::data_type(DType::f32)}}, DType::f32);
    const Value keys = e.node("Div", {e.node("Log", {uniform}), weights});
    made = e.nodes("TopK", {keys}, 2, {{"k", int_value(e, "num_samples")}, {"axis", 1}})[1];
  }
  e.give(vector ? e.build.squeeze(made, {0}) : made);
}

// The order of random numbers.
void randperm(Emission& e) {
  const Value n = int_value(e, "n");
  Value numbers;
  if (const auto known = e.call.integer("n"))
    numbers = e.node("RandomUniform", {}, {{"shape", Ints{*known}}, {"dtype", onnx::data_type(DType::f32)}}, DType::f32);
  else
    numbers = e.node("RandomUniformLike", {filled(e, n, e.scalar(DType::f32, 0))}, {{"dtype", onnx::data_type(DType::f32)}},
                     DType::f32);
  e.give(e.nodes("TopK", {numbers}, 2, {{"k", n}, {"axis", 0}})[1]);
}

}  // namespace

void register_random(Registry& registry) {
  for (const char* op : {"aten::rand", "aten::rand_like"}) registry.handler(op, rand);
  for (const char* op : {"aten::randn", "aten::randn_like"}) registry.handler(op, randn);
  registry.handler("aten::uniform", uniform);
  for (const char* op : {"aten::randint", "aten::randint_like"}) registry.handler(op, randint);
  registry.handler("aten::random", random);
  for (const char* op : {"aten::normal", "aten::normal_functional"}) registry.handler(op, normal);
  registry.handler("aten::bernoulli", bernoulli);
  registry.handler("aten::exponential", exponential_numbers);
  registry.handler("aten::geometric", geometric);
  registry.handler("aten::log_normal", log_normal);
  registry.handler("aten::cauchy", cauchy);
  registry.handler("aten::multinomial", multinomial, {"operator"});
  registry.handler("aten::randperm", randperm);
}

}  // namespace compatcheck::handlers
