// Floating-point numbers in the notation, and the 16-bit formats.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

namespace compatcheck::ir {

// The shortest that reads back equal, always telling itself from an int: "1.", "0.1", "1e-05", "-inf", "nan".
std::string spell(double value);
std::string spell(float value);
std::string spell(std::complex<double> value);  // "1.+2.j"
// As people write it: "120", "0.5".
std::string plainly(double value);

double from_half(std::uint16_t bits);
std::uint16_t to_half(double value);  // nearest, ties to even
double from_bfloat(std::uint16_t bits);
std::uint16_t to_bfloat(double value);

}  // namespace compatcheck::ir
