// Rows and conditions as people read them.
#pragma once

#include <string>
#include <vector>

#include "mapping/row.h"

namespace compatcheck::reference {

// "ceil_mode is True and the rank of self is 4"; alternatives joined by "or".
std::string spell_when(const std::vector<mapping::Conditions>& when);
// "Gelu", "Div, Erf, Add, Mul", "missing: why", "refused: why".
std::string spell_result(const mapping::Row& row);

}  // namespace compatcheck::reference
