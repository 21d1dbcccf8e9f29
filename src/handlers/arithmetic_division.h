// Quotients and remainders as PyTorch rounds them.
#pragma once

#include "handlers/elementary.h"

namespace compatcheck::handlers {

// Operands of one dtype. `rounds_down`: neither operand is negative.
Value floored_quotient(Emission& e, const Value& a, const Value& b, bool rounds_down = false);
Value truncated_quotient(Emission& e, const Value& a, const Value& b);
Value remainder_of(Emission& e, const Value& a, const Value& b);         // sign of the divisor
Value truncated_remainder(Emission& e, const Value& a, const Value& b);  // sign of the dividend

// Integers that are known not to be negative.
bool is_natural(const Emission& e, std::string_view argument);

}  // namespace compatcheck::handlers
