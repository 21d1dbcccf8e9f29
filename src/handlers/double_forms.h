// Functions for which ONNX Runtime has no kernel in double precision, composed of those for which it has; in other dtypes ONNX's
// own. Each is right to the last digits of a double: a cast to single precision and back would lose half of them.
#pragma once

#include "handlers/elementary.h"

namespace compatcheck::handlers {

Value tangent(Emission& e, const Value& x);
Value arc_sine(Emission& e, const Value& x);
Value arc_cosine(Emission& e, const Value& x);
Value arc_tangent(Emission& e, const Value& x);
// From opset 9 on.
Value area_sine(Emission& e, const Value& x);
Value area_cosine(Emission& e, const Value& x);
Value area_tangent(Emission& e, const Value& x);
Value log_of_one_plus(Emission& e, const Value& x);  // before opset 9, small numbers lose digits
Value error_function(Emission& e, const Value& x);
Value complementary_error(Emission& e, const Value& x);         // 1 - erf(x)
Value scaled_complementary_error(Emission& e, const Value& x);  // exp(x²) · erfc(x) of doubles that aren't negative

Value leaky(Emission& e, const Value& x, double slope);  // x · slope where x is negative
Value exponential_linear(Emission& e, const Value& x, double alpha);
Value negative_part(Emission& e, const Value& x);  // min(x, 0)

// Determinants of matrices in the last two dimensions, from opset 11 on; in double by elimination, which needs a fixed size.
Value determinant(Emission& e, const Value& matrices, const Shape& shape);

}  // namespace compatcheck::handlers
