// Sums of powers and of Chebyshev's polynomials, with which special functions are computed.
#pragma once

#include <span>

#include "handlers/elementary.h"

namespace compatcheck::handlers {

// By Horner's rule; the coefficient of the highest power first.
Value polynomial(Emission& e, const Value& x, std::span<const double> coefficients);
// By Clenshaw's rule, halved as Cephes has it; terms that single precision can't hold are left out of it.
Value chebyshev_sum(Emission& e, const Value& x, std::span<const double> coefficients);

}  // namespace compatcheck::handlers
