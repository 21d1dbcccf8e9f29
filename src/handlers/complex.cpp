// Complex numbers: as their real and imaginary parts, and real tensors where PyTorch's operators take both.
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "handlers/compute.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/trigonometry.h"
#include "symbolic/promotion.h"

namespace compatcheck::handlers {
namespace {

void adjoint(Emission& e) {
  const auto rank = static_cast<std::size_t>(e.rank("self"));
  const Value x = e.tensor("self");
  if (rank < 2) return e.give(x);
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  e.give(e.build.transpose(x, permutation));
}

// 0 or pi of real numbers.
void real_angle(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value x = single_operand(e);
  const Value made = where(e, less(e, x, e.scalar(x.dtype, 0)), e.scalar(dtype, std::numbers::pi), e.scalar(dtype, 0));
  e.give(minds_nan(e, x) ? where(e, is_nan(e, x), x, made) : made);
}

// ---- Operands

// The dtype of the parts in which the call computes: that of the result, or of the compared tensors.
DType part_dtype(const Emission& e) {
  if (ir::is_complex(e.output_dtype())) return symbolic::real_part(e.output_dtype());
  symbolic::Promotion promotion;
  for (std::size_t i = 0; i < e.call.node().inputs().size(); ++i)
    if (e.call.input(i).tensor() || e.call.input(i).number()) promotion.add(e.call.input(i));
  const auto dtype = promotion.result();
  if (!dtype) e.want(e.call.node().schema()->arguments.front().name, "the dtype");
  return symbolic::real_part(*dtype);
}

Complex complex_operand(Emission& e, std::size_t argument = 0) {
  return e.complex(e.call.node().schema()->arguments.at(argument).name, part_dtype(e));
}

// Squares of f32 neither overflow nor vanish in f64.
Complex wide(Emission& e, const Complex& x) { return {e.cast(x.real, DType::f64), e.cast(x.imag, DType::f64)}; }

// Casts the parts to the dtype of the result.
void give_complex(Emission& e, const Complex& x) {
  const DType dtype = symbolic::real_part(e.output_dtype());
  e.give(Complex{e.cast(x.real, dtype), e.cast(x.imag, dtype)});
}

// ---- Arithmetic

Complex complex_product(Emission& e, const Complex& a, const Complex& b) {
  return {subtract(e, multiply(e, a.real, b.real), multiply(e, a.imag, b.imag)),
          add(e, multiply(e, a.real, b.imag), multiply(e, a.imag, b.real))};
}

Value squared_magnitude(Emission& e, const Complex& x) {
  return add(e, multiply(e, x.real, x.real), multiply(e, x.imag, x.imag));
}

Value magnitude(Emission& e, const Complex& x) { return e.node("Sqrt", {squared_magnitude(e, wide(e, x))}); }

Complex complex_quotient(Emission& e, const Complex& numerator, const Complex& divisor) {
  const Complex a = wide(e, numerator), b = wide(e, divisor);
  const Value scale = squared_magnitude(e, b);
  const Complex made = complex_product(e, a, {b.real, negated(e, b.imag)});
  return {divide(e, made.real, scale), divide(e, made.imag, scale)};
}

Complex complex_one(Emission& e, const Complex& like) { return {e.scalar(like.real.dtype, 1), e.scalar(like.real.dtype, 0)}; }

void multiply_complex(Emission& e) {
  const Complex a = complex_operand(e);
  give_complex(e, complex_product(e, a, complex_operand(e, 1)));
}

void divide_complex(Emission& e) {
  const Complex a = complex_operand(e);
  give_complex(e, complex_quotient(e, a, complex_operand(e, 1)));
}

void reciprocal(Emission& e) {
  const Complex x = complex_operand(e);
  give_complex(e, complex_quotient(e, complex_one(e, x), x));
}

void square_of_complex(Emission& e) {
  const Complex x = complex_operand(e);
  give_complex(e, complex_product(e, x, x));
}

// ---- Functions

Complex from_polar(Emission& e, const Value& length, const Value& angle) {
  return {multiply(e, length, e.node("Cos", {angle})), multiply(e, length, e.node("Sin", {angle}))};
}

// An imaginary part of 0 stays, however large the exponential is.
void exponential_of_complex(Emission& e) {
  const Complex x = complex_operand(e);
  const Complex made = from_polar(e, e.node("Exp", {x.real}), x.imag);
  give_complex(e, {made.real, where(e, truth(e, x.imag), made.imag, x.imag)});
}

template <int base>
void logarithm_of_complex(Emission& e) {
  const Complex x = complex_operand(e);
  const Value length = e.node("Log", {magnitude(e, x)}), angle = angle_of(e, x.imag, x.real);
  if (base == 0) return give_complex(e, {length, angle});
  const double scale = std::log(static_cast<double>(base));
  give_complex(e, {divide(e, length, e.scalar(length.dtype, scale)), divide(e, angle, e.scalar(angle.dtype, scale))});
}

// Avoids cancellation: the part that would be a difference is computed from the other one instead.
Complex root(Emission& e, const Complex& given) {
  const Complex x = wide(e, given);
  const auto number = [&](double value) { return e.scalar(DType::f64, value); };
  const Value sum = add(e, magnitude(e, x), absolute(e, x.real));
  const Value large = e.node("Sqrt", {multiply(e, sum, number(0.5))});
  const Value divisor = where(e, truth(e, large), large, number(1));
  const Value small = divide(e, x.imag, multiply(e, divisor, number(2)));
  const Value left = less(e, x.real, number(0));
  return {where(e, left, absolute(e, small), large),
          where(e, left, where(e, is_negative(e, x.imag), negated(e, large), large), small)};
}

void square_root(Emission& e) { give_complex(e, root(e, complex_operand(e))); }

void reciprocal_root(Emission& e) {
  const Complex x = root(e, complex_operand(e));
  give_complex(e, complex_quotient(e, complex_one(e, x), x));
}

// PyTorch multiplies for small whole exponents.
void power_of_complex(Emission& e) {
  const auto exponent = e.call.fact("exponent").number() ? e.call.number("exponent") : std::nullopt;
  if (!exponent) throw Refusal{"aten::pow isn't supported with complex numbers but for an exponent that is a known real number"};
  const Complex x = e.complex("self", part_dtype(e));
  if (*exponent == 1) return give_complex(e, x);
  if (*exponent == 0.5) return give_complex(e, root(e, x));
  if (*exponent == -1) return give_complex(e, complex_quotient(e, complex_one(e, x), x));
  if (*exponent == 2) return give_complex(e, complex_product(e, x, x));
  if (*exponent == 3) return give_complex(e, complex_product(e, complex_product(e, x, x), x));
  if (*exponent == -2) return give_complex(e, complex_quotient(e, complex_one(e, x), complex_product(e, x, x)));
  const Value length = e.node("Pow", {magnitude(e, x), e.scalar(DType::f64, *exponent)});
  const Value angle = e.cast(angle_of(e, x.imag, x.real), DType::f64);
  give_complex(e, from_polar(e, length, multiply(e, angle, e.scalar(DType::f64, *exponent))));
}

void absolute_value(Emission& e) { e.give(magnitude(e, complex_operand(e))); }

void angle(Emission& e) {
  const Complex x = complex_operand(e);
  e.give(angle_of(e, x.imag, x.real));
}

// 0 of 0, else of length 1.
void give_direction(Emission& e) {
  const Complex x = wide(e, complex_operand(e));
  const Value length = magnitude(e, x);
  const Value divisor = where(e, truth(e, length), length, e.scalar(DType::f64, 1));
  give_complex(e, {divide(e, x.real, divisor), divide(e, x.imag, divisor)});
}

// ---- Comparisons

template <bool different>
void compare(Emission& e) {
  const Complex a = complex_operand(e), b = complex_operand(e, 1);
  const Value same = logical_and(e, equal(e, a.real, b.real), equal(e, a.imag, b.imag));
  e.give(different ? logical_not(e, same) : same);
}

void any_nan(Emission& e) {
  const Complex x = complex_operand(e);
  e.give(logical_or(e, is_nan(e, x.real), is_nan(e, x.imag)));
}

// ---- Parts

void conjugate(Emission& e) {
  const Complex x = complex_operand(e);
  give_complex(e, {x.real, negated(e, x.imag)});
}

void conjugate_transpose(Emission& e) {
  const auto rank = static_cast<std::size_t>(e.rank("self"));
  const Complex x = complex_operand(e);
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (rank >= 2) std::swap(permutation[rank - 2], permutation[rank - 1]);
  give_complex(e, {e.build.transpose(x.real, permutation), negated(e, e.build.transpose(x.imag, permutation))});
}

void real_part(Emission& e) { e.give(complex_operand(e).real); }
void imaginary_part(Emission& e) { e.give(complex_operand(e).imag); }

void view_as_real(Emission& e) { e.give(paired(complex_operand(e), e.rank("self"), e.build)); }
void view_as_complex(Emission& e) {
  if (!ir::is_floating(e.dtype("self"))) throw Refusal{"PyTorch refuses this call: 'self' must be floating"};
  e.give(parted(e.tensor("self"), e.rank("self") - 1, e.build));
}

// Broadcasts both parts to one shape.
Complex broadcast(Emission& e, const Value& real, const Value& imag, std::string_view first, std::string_view second) {
  const auto alike = [&](std::string_view argument) {
    const Shape &own = e.shape(argument), &whole = e.output_shape();
    return own.size() == whole.size() &&
           std::equal(own.begin(), own.end(), whole.begin(), [](const Dim& a, const Dim& b) { return provably_equal(a, b); });
  };
  const auto stretched = [&](const Value& value, std::string_view own, const Value& other) {
    const auto marked = e.build.plumbing();
    return alike(own) ? value : add(e, value, filled_like(e, other, value.dtype, 0));
  };
  return {stretched(real, first, imag), stretched(imag, second, real)};
}

void make_complex(Emission& e) {
  const Value real = e.tensor("real"), imag = e.tensor("imag");
  give_complex(e, broadcast(e, real, imag, "real", "imag"));
}

// A real tensor of the call's sizes, as a complex one.
template <int number>
void filled_complex(Emission& e) {
  const DType part = part_dtype(e);
  const Value sizes = e.given("size") ? e.int_vector("size") : e.shape_of("self");
  e.give(Complex{filled(e, sizes, part, number), filled(e, sizes, part, 0)});
}

void give_number(Emission& e) { give_complex(e, complex_operand(e)); }

void make_polar(Emission& e) {
  if (!e.call.has("abs")) throw Refusal{"Python's complex numbers have no ONNX form", "use tensors"};
  if (!ir::is_floating(e.dtype("abs")) || e.dtype("abs") != e.dtype("angle"))
    throw Refusal{"PyTorch refuses this call: 'abs' and 'angle' must be floating and of one dtype"};
  const Value length = e.tensor("abs");
  give_complex(e, from_polar(e, length, e.tensor("angle")));
}

}  // namespace

void register_complex(Registry& registry) {
  for (const char* op : {"aten::mH", "aten::matrix_H", "aten::adjoint"}) {
    registry.handler(op, adjoint);
    registry.complex_handler(op, conjugate_transpose);
  }
  registry.handler("aten::_neg_view", [](Emission& e) { e.give(negated(e, e.tensor("self"))); });
  registry.handler("aten::angle", real_angle);
  const std::pair<const char*, Handler> functions[] = {{"aten::mul", multiply_complex},
                                                       {"aten::div", divide_complex},
                                                       {"aten::reciprocal", reciprocal},
                                                       {"aten::square", square_of_complex},
                                                       {"aten::exp", exponential_of_complex},
                                                       {"aten::log", logarithm_of_complex<0>},
                                                       {"aten::log2", logarithm_of_complex<2>},
                                                       {"aten::log10", logarithm_of_complex<10>},
                                                       {"aten::sqrt", square_root},
                                                       {"aten::rsqrt", reciprocal_root},
                                                       {"aten::pow", power_of_complex},
                                                       {"aten::abs", absolute_value},
                                                       {"aten::angle", angle},
                                                       {"aten::sign", give_direction},  // sgn
                                                       {"aten::eq", compare<false>},
                                                       {"aten::ne", compare<true>},
                                                       {"aten::isnan", any_nan},
                                                       {"aten::_conj", conjugate},
                                                       {"aten::conj", conjugate},
                                                       {"aten::conj_physical", conjugate},
                                                       {"aten::_conj_physical", conjugate},
                                                       {"aten::real", real_part},
                                                       {"aten::imag", imaginary_part},
                                                       {"aten::view_as_real", view_as_real},
                                                       {"aten::view_as_complex", view_as_complex},
                                                       {"aten::complex", make_complex},
                                                       {"aten::polar", make_polar},
                                                       {"aten::zeros", filled_complex<0>},
                                                       {"aten::ones", filled_complex<1>},
                                                       {"aten::ones_like", filled_complex<1>},
                                                       {"aten::new_ones", filled_complex<1>},
                                                       {"aten::tensor", give_number},
                                                       {"aten::scalar_tensor", give_number}};
  for (const auto& [op, handler] : functions) registry.complex_handler(op, handler);
}

}  // namespace compatcheck::handlers
