// The text of `facts:` in the tables.
#pragma once

#include <string_view>
#include <vector>

namespace compatcheck::symbolic {

// Splits "same, reduce" into one word for each result; "~" describes none. A single word describes the first result only.
std::vector<std::string_view> words_of_results(std::string_view facts);

}  // namespace compatcheck::symbolic
