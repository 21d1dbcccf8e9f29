// The text of `facts:` in the tables.
#pragma once

#include <string_view>
#include <vector>

namespace compatcheck::symbolic {

// "same, reduce": of each result a word, ~ where nothing is said; one word alone speaks for the first result.
std::vector<std::string_view> words_of_results(std::string_view facts);

}  // namespace compatcheck::symbolic
