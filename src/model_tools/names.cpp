#include "model_tools/names.h"

#include <algorithm>
#include <string_view>

#include "mapping/reading/suggest.h"

namespace compatcheck::model_tools {

std::string near_names(const std::string& name, const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::vector<std::string_view> near = mapping::nearest(name, known, most);
  for (const std::string_view other : known) {
    if (near.size() >= most) break;
    if (!name.empty() && other.find(name) != other.npos && std::ranges::find(near, other) == near.end()) near.push_back(other);
  }
  std::string text;
  for (const std::string_view one : near) text += (text.empty() ? "; did you mean " : ", ") + std::string(one);
  return text.empty() ? text : text + "?";
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i ? ", " : "") + names[i];
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

}  // namespace compatcheck::model_tools
