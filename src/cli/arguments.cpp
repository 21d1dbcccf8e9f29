#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "cli/option_table.h"

namespace compatcheck::cli {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) result.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

// Whether another command accepts the value: COMPATCHECK_FORMAT=jsonl is for check, though `ops` doesn't support it.
bool others_take(const Option& option, const std::string& value) {
  return std::any_of(option_table().begin(), option_table().end(), [&](const Option& other) {
    if (&other == &option || other.name != option.name) return false;
    Options scratch;
    try {
      other.apply(scratch, value);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  });
}

// Applies values that the command line doesn't set; errors state their source. Values of the environment may be meant for
// other commands.
enum class Source { environment, configuration };
void apply_from(Options& options, const Option& option, std::span<const std::string> values, Source kind,
                const std::string& source) {
  for (const auto& value : values) try {
      option.apply(options, value);
      options.given.push_back({std::string(option.name), value, source});
    } catch (const UsageError& error) {
      if (kind == Source::environment && others_take(option, value)) return;
      throw UsageError(source + ": " + error.what());
    }
}

bool apply_environment(Options& options, const Option& option) {
  const char* value = std::getenv(environment_name(option).c_str());
  if (!value || !*value) return false;
  const std::string source = environment_name(option);
  if (option.value.empty()) {
    const std::string_view given(value);
    if (given == "1" || given == "true")
      apply_from(options, option, std::vector<std::string>{""}, Source::environment, source);
    else if (given == "2" && option.repeatable)
      apply_from(options, option, std::vector<std::string>{"", ""}, Source::environment, source);  // -vv
    else if (given != "0" && given != "false")
      throw UsageError(source + ": " + std::string(given) + ": expected 1, true, 0 or false" +
                       (option.repeatable ? ", or 2 for twice" : ""));
  } else {
    apply_from(options, option, option.repeatable ? lines(value) : std::vector<std::string>{value}, Source::environment, source);
  }
  return true;
}

// The arguments that CLI11 read, before they are applied: the table's functions run in the order of the table.
struct Given {
  std::vector<std::string> positional;
  std::map<const Option*, std::vector<std::string>> values;
  std::map<const Option*, int> flags;
};

// "check, ops": the commands that have the option.
std::string owners(const std::string& name) {
  std::string commands;
  for (const Command& command : command_table())
    for (const Option* option : options_of(command.name))
      if (name == option->name || name == option->short_name)
        commands += (commands.empty() ? "" : ", ") + std::string(command.name);
  return commands;
}

struct ForeignOption {
  std::string_view names;  // separated by spaces
  std::string_view advice;
};
// Options of torch.onnx.export and of other converters.
constexpr ForeignOption foreign_options[] = {
    {"--dynamic-axes --dynamic-shapes --dynamic --dynamic-batch", "a name makes a size dynamic: --input x=batch,3,224,224"},
    {"--input-shape --input-shapes --shape --shapes --min-shapes --opt-shapes --max-shapes --minshapes --optshapes --maxshapes",
     "--input states sizes: --input x=1,3,224,224"},
    {"--fp16 --half --bf16 --precision --dtype",
     "compatcheck keeps the dtypes of the model; for others call model.half() or model.bfloat16() before you save it"},
    {"--int8 --quantize", "compatcheck keeps the dtypes of the model; it also converts models that PyTorch has quantized"},
    {"--opset-version --target-opset", "--opset N chooses the opset"},
    {"--operator-export-type", "--export-type chooses what becomes of operators without ONNX form"},
    {"--do-constant-folding --simplify --optimize",
     "constants are folded and the graph is simplified unless convert has --no-fold or --no-optimize"},
    {"--export-params", "the ONNX model always has the weights; --external-data chooses the file"},
    {"--device --cuda --gpu", "compatcheck needs no device: it never runs the model to check or convert it"},
    {"--engine --runtime --backend --provider",
     "--target ENGINE chooses an engine; `compatcheck explain targets` lists the engines"},
};

// Returns what to use instead of another tool's option; empty for other words.
std::string_view instead_of_foreign(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  for (const ForeignOption& foreign : foreign_options)
    if ((" " + std::string(foreign.names) + " ").find(" " + name + " ") != std::string::npos) return foreign.advice;
  return {};
}

[[noreturn]] void unknown_option(const Command& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (const auto commands = owners(name); !commands.empty())
    throw UsageError(std::string(command.name) + " has no option " + name + "; it is for " + commands);
  if (const std::string_view instead = instead_of_foreign(name); !instead.empty())
    throw UsageError("unknown option " + word + "; " + std::string(instead));
  std::vector<std::string> names;
  for (const Option* option : options_of(command.name)) names.emplace_back(option->name);
  const std::string near = nearest(name, names);
  throw UsageError("unknown option " + word + (near.empty() ? "" : "; did you mean " + near + "?"));
}

// CLI11 begins its message with the option's name.
[[noreturn]] void lacking_value(const Command& command, const std::string& message) {
  const std::string name = message.substr(0, message.find(':'));
  for (const Option* option : options_of(command.name))
    if (name == option->name && !option->value.empty())
      throw UsageError(name + ": the value is missing: " + name + " " + std::string(option->value));
  throw UsageError(message);
}

void check_flags(const Command& command, std::span<const std::string> arguments) {
  for (const Option* option : options_of(command.name))
    for (const auto& word : arguments)
      if (option->value.empty() && word.starts_with(std::string(option->name) + "="))
        throw UsageError(word + ": " + std::string(option->name) + " takes no value");
}

Given read_given(const Command& command, std::span<const std::string> arguments) {
  check_flags(command, arguments);
  Given given;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.positionals_at_end(false);
  for (const Option* option : options_of(command.name)) {
    const std::string names =
        std::string(option->name) + (option->short_name.empty() ? "" : "," + std::string(option->short_name));
    if (option->value.empty()) {
      app.add_flag(names, given.flags[option]);
    } else {
      app.add_option(names, given.values[option])
          ->type_size(1)
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->allow_extra_args(false);
    }
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& error) {
    lacking_value(command, error.what());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const auto& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') unknown_option(command, word);
    given.positional.push_back(word);
  }
  return given;
}

// A configuration is about models: its opset isn't that of a table.
bool has_configuration(const Option& option) { return serves(option, "check") || serves(option, "convert"); }

void apply(Options& options, const Option& option, const Given& given) {
  const auto& values = given.values;
  if (const auto found = values.find(&option); found != values.end() && !found->second.empty()) {
    if (!option.repeatable && found->second.size() > 1) throw UsageError(std::string(option.name) + " is given twice");
    for (const auto& value : found->second) {
      option.apply(options, value);
      options.given.push_back({std::string(option.name), value, std::string(on_command_line)});
    }
    return;
  }
  if (const auto found = given.flags.find(&option); found != given.flags.end() && found->second > 0) {
    for (int i = 0; i < found->second; ++i) option.apply(options, "");
    options.given.push_back({std::string(option.name), "", std::string(on_command_line)});
    return;
  }
  if (apply_environment(options, option) || !has_configuration(option)) return;
  for (const Setting& setting : options.configuration.settings)
    if (setting.option == option.name) apply_from(options, option, setting.values, Source::configuration, setting.source);
}

bool is_on_command_line(const Options& options, const char* name) {
  return std::ranges::any_of(options.given,
                             [&](const GivenOption& given) { return given.name == name && given.source == on_command_line; });
}

// --config and --no-config come first: they determine the defaults of the other options.
void apply_configuration(Options& options, const Command& command, const Given& given) {
  bool takes = false;
  for (const Option* option : options_of(command.name))
    if (option->reads_configuration) {
      apply(options, *option, given);
      takes = true;
    }
  if (!takes) return;
  const bool named = is_on_command_line(options, "--config"), none = is_on_command_line(options, "--no-config");
  if (named && none) throw UsageError("--config and --no-config exclude each other");
  if (named) options.no_configuration = false;  // overrides the environment
  if (options.no_configuration) {
    options.configuration.file.clear();
    return;
  }
  if (options.configuration.file.empty()) {
    const auto found = find_configuration(".");
    if (!found) return;
    options.configuration.file = found->lexically_proximate(std::filesystem::current_path());
  }
  options.configuration = read_configuration(options.configuration.file);
}

}  // namespace

std::string nearest(const std::string& word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::size_t first_word(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& word = arguments[i];
    if (word.size() < 2 || word[0] != '-') return i;
    const auto takes_value = [&](const Option& option) {
      return !option.value.empty() && (word == option.name || word == option.short_name);
    };
    if (std::any_of(option_table().begin(), option_table().end(), takes_value)) ++i;
  }
  return arguments.size();
}

Options parse_arguments(const Command& command, std::span<const std::string> arguments) {
  // Everything after "--" is an argument, whatever it looks like.
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const auto before = static_cast<std::size_t>(separator - arguments.begin());
  const Given given = read_given(command, arguments.subspan(0, before));
  Options options;
  options.positional = given.positional;
  if (before < arguments.size()) options.positional.insert(options.positional.end(), separator + 1, arguments.end());
  apply_configuration(options, command, given);
  for (const Option* option : options_of(command.name))
    if (!option->reads_configuration) apply(options, *option, given);
  return options;
}

}  // namespace compatcheck::cli
