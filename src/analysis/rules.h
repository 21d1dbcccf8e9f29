// The rules by which findings are reported. Ids are stable; `compatcheck explain ID` shows a rule's page.
#pragma once

#include <span>
#include <string_view>

#include "compatcheck/report.h"

namespace compatcheck::analysis {

struct Rule {
  std::string_view id;
  std::string_view name;  // "missing-operator"
  Severity severity;
  std::string_view title;  // one line
  std::string_view page;   // explanation and advice
};

std::span<const Rule> rules();
const Rule* find_rule(std::string_view id);  // null if there is none
bool is_missing(std::string_view id);        // the operator has no mapping at the opset

}  // namespace compatcheck::analysis
