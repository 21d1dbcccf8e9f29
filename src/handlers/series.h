// Sums of powers and of Chebyshev's polynomials, with which special functions are computed.
#pragma once

#include <span>

#include "handlers/elementary.h"

namespace compatcheck::handlers {

// Horner's rule; the coefficient of the highest power comes first.
Value polynomial(Emission& e, const Value& x, std::span<const double> coefficients);
// Clenshaw's rule, halved as in Cephes, without the terms that single precision can't hold.
Value chebyshev_sum(Emission& e, const Value& x, std::span<const double> coefficients);

}  // namespace compatcheck::handlers
