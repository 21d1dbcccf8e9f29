// Python's numbers.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

NumberFact number_at(const Call& call, std::size_t i);  // an int, a float, a bool, or a tensor's only element
std::optional<double> as_double(const NumberFact& number);
std::optional<ir::Constant> constant_of(const NumberFact& number);  // nullopt if its value isn't known

// int(x), float(x) and bool(x) of the first argument.
Facts to_int(const Call& call);
Facts to_floating(const Call& call);
Facts to_boolean(const Call& call);

}  // namespace compatcheck::symbolic
