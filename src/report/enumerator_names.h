// The words by which reports spell enumerators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::string_view word(Verdict verdict);
std::string_view word(OperatorClass operator_class);
std::string_view word(Severity severity);
std::string_view word(FailOn fail_on);
std::string_view word(ExportType type);
std::string_view word(BaselineState state);
std::string_view word(Support support);
std::string_view word(GraphSummary::Outcome outcome);

// The enumerator with this word. Enumerators count from 0, and each has a word.
template <class Enumerator>
std::optional<Enumerator> spelled(std::string_view text) {
  for (std::uint8_t i = 0;; ++i) {
    const auto each = static_cast<Enumerator>(i);
    if (word(each).empty()) return std::nullopt;
    if (word(each) == text) return each;
  }
}

// "yes, no, needs_input"
template <class Enumerator>
std::string words_of() {
  std::string all;
  for (std::uint8_t i = 0; !word(static_cast<Enumerator>(i)).empty(); ++i)
    all += (i ? ", " : "") + std::string(word(static_cast<Enumerator>(i)));
  return all;
}

}  // namespace compatcheck::report
