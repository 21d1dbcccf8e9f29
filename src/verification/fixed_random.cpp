#include "verification/fixed_random.h"

#include <algorithm>
#include <cstddef>

namespace compatcheck::verification {

std::vector<std::string> fixed_random(const std::vector<Pair>& first, const std::vector<Pair>& second, const RunAgain& run) {
  if (first.size() != second.size()) return {};
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].none || second[i].none) continue;
    const auto comparison = compare(first[i].expected, second[i].expected, tolerance_of(first[i].expected.dtype));
    if (!comparison.passed()) fixed.push_back(i);
  }
  for (int count = 1; count < runs_of_random && !fixed.empty(); ++count) {
    const auto other = run();
    if (!other || other->size() != first.size()) return {};
    std::erase_if(fixed,
                  [&](std::size_t i) { return (*other)[i].none || !compare(first[i].found, (*other)[i].found, {}).passed(); });
  }
  std::vector<std::string> names;
  for (const std::size_t i : fixed) names.push_back(first[i].name);
  return names;
}

}  // namespace compatcheck::verification
