// compatcheck.yaml: its keys and what they mean.
#include <algorithm>
#include <array>
#include <charconv>

#include "analysis/boundary.h"
#include "analysis/rules.h"
#include "compatcheck/check.h"
#include "compatcheck/policy.h"
#include "mapping/reading/folder.h"
#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"
#include "policy/allow.h"
#include "policy/parse.h"
#include "policy/day.h"

namespace compatcheck {
namespace {

namespace yaml = mapping::yaml;
using yaml::Node;
using yaml::Source;
using yaml::fail;

struct Key {
  std::string_view name;
  std::string_view option;
  bool list = false;     // of several values
  bool path = false;
};

// Keys that stand for options of the command line, which checks their values.
constexpr std::array option_keys{
    Key{"opset", "--opset"},
    Key{"targets", "--target", true},
    Key{"fail_on", "--fail-on"},
    Key{"max_missing", "--max-missing"},
    Key{"mappings", "--mappings", true, true},
    Key{"plugins", "--plugin", true, true},
    Key{"op_libraries", "--op-library", true, true},
    Key{"custom_opsets", "--custom-opset", true},
    Key{"export_type", "--export-type"},
    Key{"baseline", "--baseline", false, true},
    Key{"source_root", "--source-root", false, true},
};
constexpr std::array<std::string_view, 3> other_keys{"version", "rules", "allow"};
constexpr std::array<std::string_view, 9> allow_keys{"op", "rule", "model", "opset", "target", "module", "reason", "expires", "owner"};
constexpr std::array<std::string_view, 4> severity_words{"error", "warning", "note", "off"};

std::string place(const Source& source, const Node& node) { return source.name() + ":" + std::to_string(node.line); }

std::string scalar(const Source& source, const Node& node, std::string_view what) {
  if (!node.is_scalar() || node.text.empty()) fail(source, node, std::string(what) + " is wanted");
  return node.text;
}

std::string resolved(const Source& source, const std::string& value) {
  const std::filesystem::path path(value);
  return path.is_absolute() ? value : (std::filesystem::path(source.name()).parent_path() / path).lexically_normal().string();
}

Setting setting(const Source& source, const Key& key, const Node& word, const Node& value) {
  Setting made{std::string(key.option), {}, place(source, word)};
  const std::string what = "a value of " + std::string(key.name);
  if (value.is_list() && key.list) for (const Node& item : value.items) made.values.push_back(scalar(source, item, what));
  else if (value.is_list() && key.name == "opset") {   // as --opset 11,17
    std::string all;
    for (const Node& item : value.items) all += (all.empty() ? "" : ",") + scalar(source, item, what);
    made.values.push_back(all);
  } else made.values.push_back(scalar(source, value, what));
  if (key.path) for (auto& path : made.values) path = resolved(source, path);
  return made;
}

// "CC004", "CC1*": at least one rule.
std::string rule_pattern(const Source& source, const Node& node) {
  const std::string rule = scalar(source, node, "a rule");
  if (rule.find_first_of("*?[") != std::string::npos || analysis::find_rule(rule)) return rule;
  std::vector<std::string_view> known;
  for (const auto& each : analysis::rules()) known.push_back(each.id);
  fail(source, node, "there is no rule " + rule + mapping::did_you_mean(rule, known));
}

// What keeps a model from converting can be allowed, with a reason, but not be called something less.
void check_may_be_lowered(const Source& source, const Node& node, const RuleSetting& setting) {
  if (setting.severity == Severity::error) return;
  for (const auto& rule : analysis::rules())
    if (rule.severity == Severity::error && rule.id < "CC1" && policy::matches(setting.rule, std::string(rule.id)))
      fail(source, node, std::string(rule.id) + " says that a model doesn't convert, and stays an error; an `allow` entry with its reason lets it pass");
}

void read_rules(const Source& source, const Node& node, Configuration& configuration) {
  if (!node.is_map()) fail(source, node, "`rules` maps rules to severities: {CC004: off}");
  for (const auto& [rule, said] : node.pairs) {
    RuleSetting made{rule_pattern(source, rule), {}, place(source, rule)};
    const std::string word = scalar(source, said, "a severity");
    if (word == "error") made.severity = Severity::error;
    else if (word == "warning") made.severity = Severity::warning;
    else if (word == "note") made.severity = Severity::note;
    else if (word != "off") fail(source, said, word + " is no severity: error, warning, note or off" + mapping::did_you_mean(word, severity_words));
    check_may_be_lowered(source, said, made);
    configuration.rules.push_back(std::move(made));
  }
}

int opset_of(const Source& source, const Node& node) {
  const std::string text = scalar(source, node, "an opset");
  int opset = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), opset);
  if (error != std::errc() || end != text.data() + text.size() || opset < lowest_opset || opset > highest_opset)
    fail(source, node, text + " is no opset from " + std::to_string(lowest_opset) + " to " + std::to_string(highest_opset));
  return opset;
}

std::string day_of(const Source& source, const Node& node) {
  const std::string text = scalar(source, node, "a day");
  if (!policy::is_day(text)) fail(source, node, text + " is no day as 2027-01-31");
  return text;
}

AllowEntry allow_entry(const Source& source, const Node& node) {
  if (!node.is_map()) fail(source, node, "an entry is a map: {op: aten::foo, reason: \"…\"}");
  AllowEntry entry;
  entry.source = place(source, node);
  for (const auto& [key, value] : node.pairs) {
    if (key.text == "reason") {
      if (value.is_null() || (value.is_scalar() && value.text.empty())) fail(source, key, "say why: `reason` must not be empty");
      entry.reason = scalar(source, value, "a reason");
    } else if (key.text == "op") entry.op = scalar(source, value, "an operator");
    else if (key.text == "rule") entry.rule = rule_pattern(source, value);
    else if (key.text == "model") entry.model = scalar(source, value, "a path");
    else if (key.text == "opset") entry.opset = opset_of(source, value);
    else if (key.text == "target") entry.target = scalar(source, value, "an engine");
    else if (key.text == "module") entry.module = scalar(source, value, "a module");
    else if (key.text == "expires") entry.expires = day_of(source, value);
    else if (key.text == "owner") entry.owner = scalar(source, value, "an owner");
    else mapping::reading::unknown_key(source, key, "an allow entry", allow_keys);
  }
  if (entry.op.empty() && entry.rule.empty()) fail(source, node, "an entry names an operator or a rule: `op` or `rule`");
  if (entry.reason.empty()) fail(source, node, "say why: `reason` is wanted");
  return entry;
}

void read_allow(const Source& source, const Node& node, Configuration& configuration) {
  if (node.is_null()) return;
  if (!node.is_list()) fail(source, node, "`allow` is a list of entries");
  for (const Node& item : node.items) configuration.allow.push_back(allow_entry(source, item));
}

void read_key(const Source& source, const Node& key, const Node& value, Configuration& configuration) {
  if (key.text == "version") {
    if (!value.is_scalar() || value.text != "1") fail(source, value, "this version of compatcheck reads configurations of version 1");
  } else if (key.text == "rules") {
    if (!value.is_null()) read_rules(source, value, configuration);
  } else if (key.text == "allow") {
    read_allow(source, value, configuration);
  } else {
    const auto found = std::find_if(option_keys.begin(), option_keys.end(), [&](const Key& known) { return known.name == key.text; });
    if (found == option_keys.end()) {
      std::vector<std::string_view> names(other_keys.begin(), other_keys.end());
      for (const Key& known : option_keys) names.push_back(known.name);
      mapping::reading::unknown_key(source, key, "the configuration", names);
    }
    if (!value.is_null()) configuration.settings.push_back(setting(source, *found, key, value));
  }
}

}  // namespace

Configuration policy::parse_configuration(std::string_view text, const std::string& name) {
  const Source source(text, name);
  const Node root = yaml::parse(source);
  Configuration configuration;
  configuration.file = name;
  if (root.is_null()) return configuration;
  if (!root.is_map()) fail(source, root, "a configuration is a map: {opset: 17, fail_on: missing}");
  for (const auto& [key, value] : root.pairs) read_key(source, key, value, configuration);
  return configuration;
}

Configuration read_configuration(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    if (!std::filesystem::is_regular_file(file)) throw UsageError(file.string() + ": there is no such file");
    return policy::parse_configuration(mapping::read_file(file), file.string());
  });
}

std::optional<std::filesystem::path> find_configuration(const std::filesystem::path& folder) {
  std::error_code error;
  const auto start = std::filesystem::absolute(folder, error);
  if (error) return std::nullopt;
  for (auto at = start.lexically_normal();; at = at.parent_path()) {
    for (const char* name : {"compatcheck.yaml", ".compatcheck.yaml"})
      if (std::filesystem::is_regular_file(at / name, error)) return at / name;
    if (at == at.parent_path()) return std::nullopt;
  }
}

}  // namespace compatcheck
