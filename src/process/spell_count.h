// Numbers with their nouns, as messages have them.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace compatcheck {

// "1 node", "3 nodes".
inline std::string spell_count(std::integral auto number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace compatcheck
