// Calls with complex tensors whose rows are written for real ones.
#pragma once

#include <functional>

#include "handlers/emission.h"
#include "mapping/row.h"

namespace compatcheck::handlers {

// Emits the call for its real parts and for its imaginary parts, as if it had been given these, and joins the results.
// `parts`: of the arguments that the form names. `product`: also of one with the other, as complex numbers are multiplied. A real
// tensor or number among these arguments has imaginary parts of 0.
void emit_complex_form(Emission& e, const mapping::ComplexForm& form, const std::function<void(Emission&)>& emit);

}  // namespace compatcheck::handlers
