// The table of options, from which parsing, --help and shell completion are made.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace compatcheck::cli {

// Where commands take different values of one option, it has a row for each.
struct Option {
  std::string_view name;        // "--opset"
  std::string_view short_name;  // "-q", or empty
  std::string_view value;       // "N", or empty for a flag
  std::string_view choices;     // "text json jsonl"; for completion alone "<file>", "<folder>" and "<engine>"
  bool repeatable = false;
  std::string_view commands;  // "check ops"
  std::string_view help;
  void (*apply)(Options&, const std::string& value);  // throws UsageError; a flag gets ""
  bool reads_configuration = false;                   // it names the configuration file, which sets other options
  std::string_view variable = {};                     // name of the variable if COMPATCHECK_NAME belongs to another option

  bool has_words() const { return !choices.empty() && choices.front() != '<'; }
};

std::span<const Option> option_table();
std::vector<const Option*> options_of(std::string_view command);
bool serves(const Option& option, std::string_view command);
// "COMPATCHECK_FAIL_ON" for --fail-on, unless the row names another one.
std::string environment_name(const Option& option);

}  // namespace compatcheck::cli
