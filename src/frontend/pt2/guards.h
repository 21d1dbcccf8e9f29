// guards_code: what the exporter found that sizes must satisfy for the program to be the model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/pt2/interface.h"

namespace compatcheck::frontend::pt2 {

// `hints`: the sizes of the example that the program was exported with, by symbol. A guard that holds for the example's size alone
// makes the size that number, in the inputs; one that holds for some sizes of the range becomes a condition. Returns the symbols
// that became numbers.
std::map<std::string, std::int64_t> apply_guards(ExportedInterface& exported, const std::vector<std::string>& guards,
                                                 const std::map<std::string, std::int64_t>& hints);

// What of the ranges and conditions sizes of inputs, by name, don't meet; empty if they meet all that can be evaluated.
std::string violation(const ExportedInterface& exported, const std::map<std::string, std::vector<std::int64_t>>& sizes);

}  // namespace compatcheck::frontend::pt2
