#include "handlers/series.h"

#include <cmath>

namespace compatcheck::handlers {

Value polynomial(Emission& e, const Value& x, std::span<const double> coefficients) {
  Value made = constant(e, x, coefficients.front());
  for (const double coefficient : coefficients.subspan(1)) made = plus(e, multiply(e, made, x), coefficient);
  return made;
}

Value chebyshev_sum(Emission& e, const Value& x, std::span<const double> coefficients) {
  if (x.dtype != DType::f64)
    while (std::abs(coefficients.front()) < 2e-9) coefficients = coefficients.subspan(1);
  Value last = constant(e, x, coefficients.front()), before = constant(e, x, 0), earlier = before;
  for (const double coefficient : coefficients.subspan(1)) {
    earlier = before;
    before = last;
    last = plus(e, subtract(e, multiply(e, x, before), earlier), coefficient);
  }
  return times(e, subtract(e, last, earlier), 0.5);
}

}  // namespace compatcheck::handlers
