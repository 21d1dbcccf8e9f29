#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/arguments.h"
#include "cli/option_table.h"

namespace compatcheck::cli {
namespace {

constexpr std::string_view lead = "COMPATCHECK_";

// Variables that belong to no option: those of the library, of the templates for CI (docs/ci.md) and of tools/setup.sh.
constexpr std::array<std::string_view, 5> others{"HELPER", "REPOSITORY", "REVISION", "MODELS", "CACHE"};

std::vector<std::string> known_variables() {
  std::vector<std::string> known;
  for (const Option& option : option_table()) known.push_back(environment_name(option).substr(lead.size()));
  known.insert(known.end(), others.begin(), others.end());
  return known;
}

}  // namespace

std::vector<std::string> misspelt_variables() {
  std::vector<std::string> warnings, known;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with(lead)) continue;
    if (known.empty()) known = known_variables();
    const std::string name(text.substr(lead.size(), text.find('=') - lead.size()));
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = nearest(name, known);
    if (near.empty()) continue;  // somebody else's
    warnings.push_back("warning: " + std::string(lead) + name + " is no variable that compatcheck reads; did you mean " +
                       std::string(lead) + near + "?");
  }
  std::ranges::sort(warnings);
  return warnings;
}

}  // namespace compatcheck::cli
