#include "ir/number_text.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace compatcheck::ir {
namespace {

template <class Float>
std::string as_float(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string out(buffer, result.ptr);
  if (out.find_first_of(".e") == std::string::npos) out += '.';
  return out;
}

// Rounds to a format with that many fraction bits and that least exponent, ties to even; exact for doubles.
double round_to(double value, int fraction_bits, int least_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, fraction_bits - exponent)), exponent - fraction_bits);
}

}  // namespace

std::string spell(double value) { return as_float(value); }
std::string spell(float value) { return as_float(value); }

std::string spell(std::complex<double> value) {
  const std::string imaginary = spell(value.imag());
  return spell(value.real()) + (imaginary.starts_with('-') ? "" : "+") + imaginary + 'j';
}

std::string shortest(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string plainly(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6).ptr};
}

double from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31)
    magnitude = fraction ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::uint16_t to_half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  const double magnitude = round_to(std::fabs(value), 10, -14);
  if (magnitude >= 65536) return sign | 0x7c00;
  if (magnitude < std::ldexp(1, -14)) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, 24)));
  const int exponent = std::ilogb(magnitude);
  const int fraction = static_cast<int>(std::ldexp(magnitude, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | fraction);
}

double from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t to_bfloat(double value) {
  if (std::isnan(value)) return 0x7fc0;
  const auto narrow = static_cast<float>(round_to(value, 7, -126));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(narrow) >> 16);
}

}  // namespace compatcheck::ir
