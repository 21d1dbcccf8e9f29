// The text of `facts:` in the tables.
#pragma once

#include <string_view>
#include <vector>

namespace compatcheck::symbolic {

// Splits "same, {dtype: i64, rank: 1}" into one description for each result; "~" describes none. A single one describes the first
// result only.
std::vector<std::string_view> words_of_results(std::string_view facts);

}  // namespace compatcheck::symbolic
