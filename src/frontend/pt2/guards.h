// guards_code: conditions on sizes under which the program computes the same as the model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/pt2/interface.h"

namespace compatcheck::frontend::pt2 {

// `hints`: the sizes of the example that the program was exported with, by symbol. A guard that holds for the example's size
// alone, or an equation that holds for few sizes, makes the size that number in the inputs. A guard that holds for some sizes of
// the range becomes a condition. Returns the symbols that became numbers.
std::map<std::string, std::int64_t> apply_guards(ExportedInterface& exported, const std::vector<std::string>& guards,
                                                 const std::map<std::string, std::int64_t>& hints);

// The first range or condition that these sizes of inputs, by name, violate; empty if they meet all that can be evaluated.
std::string violation(const ExportedInterface& exported, const std::map<std::string, std::vector<std::int64_t>>& sizes);

}  // namespace compatcheck::frontend::pt2
