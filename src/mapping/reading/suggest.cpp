#include "mapping/reading/suggest.h"

#include <algorithm>
#include <cctype>

namespace compatcheck::mapping {

namespace {

char folded(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edits between two words: letters put in, left out, replaced, or two neighbours swapped; letter case at no cost.
// Stops counting beyond `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto same = [&](std::size_t x, std::size_t y) { return folded(a[x - 1]) == folded(b[y - 1]); };
      row[j] = std::min({above[j - 1] + (same(i, j) ? 0 : 1), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> known, std::size_t limit) {
  if (name.size() > 100) return {};
  const std::size_t tolerance = name.size() < 4 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view candidate : known)
    if (const std::size_t edits = distance(name, candidate, tolerance); edits <= tolerance) found.emplace_back(edits, candidate);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < found.size() && i < limit; ++i) names.push_back(found[i].second);
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const auto names = nearest(name, known);
  return names.empty() ? std::string() : "; did you mean `" + std::string(names.front()) + "`?";
}

}  // namespace compatcheck::mapping
