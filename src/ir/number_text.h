// Floating-point numbers in the notation, and the 16-bit formats.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

namespace compatcheck::ir {

// The shortest text that reads back equal and as a float, not an int: "1.", "0.1", "1e-05", "-inf", "nan".
std::string spell(double value);
std::string spell(float value);
std::string spell(std::complex<double> value);  // "1.+2.j"
// The shortest text that reads back equal, with no point for a whole number: "1", "0.1", "1e-05".
std::string shortest(double value);
// As people write it: "120", "0.5".
std::string plainly(double value);

double from_half(std::uint16_t bits);
std::uint16_t to_half(double value);  // nearest, ties to even
double from_bfloat(std::uint16_t bits);
std::uint16_t to_bfloat(double value);

}  // namespace compatcheck::ir
