// "did you mean": the nearest of the known names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::mapping {

// Names within a few edits, a third of `name`'s length, nearest first, at most `limit`.
std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> known, std::size_t limit = 1);

// "; did you mean `x`?", or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace compatcheck::mapping
