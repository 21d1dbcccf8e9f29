// compatcheck.yaml: its keys and what they mean.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "analysis/boundary.h"
#include "analysis/rules.h"
#include "compatcheck/check.h"
#include "compatcheck/policy.h"
#include "engines/targets.h"
#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"
#include "policy/allow.h"
#include "policy/parse.h"
#include "policy/text_file.h"
#include "process/day.h"

namespace compatcheck {
namespace {

namespace yaml = mapping::yaml;
using yaml::fail;
using yaml::Node;
using yaml::Source;

enum class Names { words, files, engines };  // an engine may be a profile's file

struct Key {
  std::string_view name;
  std::string_view option;
  bool list = false;  // whether it may have several values
  Names names = Names::words;
};

// Keys that stand for options of the command line, which checks their values.
constexpr std::array option_keys{
    Key{"opset", "--opset"},
    Key{"targets", "--target", true, Names::engines},
    Key{"fail_on", "--fail-on"},
    Key{"max_missing", "--max-missing"},
    Key{"mappings", "--mappings", true, Names::files},
    Key{"plugins", "--plugin", true, Names::files},
    Key{"op_libraries", "--op-library", true, Names::files},
    Key{"custom_opsets", "--custom-opset", true},
    Key{"export_type", "--export-type"},
    Key{"state", "--state"},
    Key{"complex_io", "--complex-io"},
    Key{"quantized_io", "--quantized-io"},
    Key{"prefer", "--prefer"},
    Key{"baseline", "--baseline", false, Names::files},
    Key{"source_root", "--source-root", false, Names::files},
};
constexpr std::array<std::string_view, 3> other_keys{"version", "rules", "allow"};
constexpr std::array<std::string_view, 9> allow_keys{"op",     "rule",   "model",   "opset", "target",
                                                     "module", "reason", "expires", "owner"};
constexpr std::array<std::string_view, 4> severity_words{"error", "warning", "note", "off"};

std::string place(const Source& source, const Node& node) { return source.name() + ":" + std::to_string(node.line); }

std::string scalar(const Source& source, const Node& node, std::string_view what) {
  if (!node.is_scalar() || node.text.empty()) fail(source, node, "expected " + std::string(what));
  return node.text;
}

std::string resolved(const std::filesystem::path& folder, const std::string& value) {
  const std::filesystem::path path(value);
  return path.is_absolute() ? value : (folder / path).lexically_normal().string();
}

// "./npu" stays a file's name.
std::string resolved_profile(const std::filesystem::path& folder, const std::string& file) {
  const std::string path = resolved(folder, file);
  return engines::names_file(path) ? path : "./" + path;
}

Setting setting(const Source& source, const std::filesystem::path& folder, const Key& key, const Node& word, const Node& value) {
  Setting made{std::string(key.option), {}, place(source, word)};
  const std::string what = "a value of " + std::string(key.name);
  if (value.is_list() && key.list)
    for (const Node& item : value.items) made.values.push_back(scalar(source, item, what));
  else if (value.is_list() && key.name == "opset") {  // like --opset 11,17
    std::string all;
    for (const Node& item : value.items) all += (all.empty() ? "" : ",") + scalar(source, item, what);
    made.values.push_back(all);
  } else
    made.values.push_back(scalar(source, value, what));
  for (auto& each : made.values) {
    if (key.names == Names::files)
      each = resolved(folder, each);
    else if (key.names == Names::engines && engines::names_file(each))
      each = resolved_profile(folder, each);
  }
  return made;
}

// `*`, `?` and sets, as the allow-list has them.
std::string pattern(const Source& source, const Node& node, std::string_view what) {
  const std::string text = scalar(source, node, what);
  if (!policy::closes_sets(text)) fail(source, node, "a `[` without its `]`; the letter itself is `[[]`");
  return text;
}

// "CC004", "CC1*": at least one rule.
std::string rule_pattern(const Source& source, const Node& node) {
  const std::string rule = pattern(source, node, "a rule");
  std::vector<std::string> families;  // "CC1*"
  for (const auto& each : analysis::rules()) {
    if (policy::matches(rule, std::string(each.id))) return rule;
    families.push_back(std::string(each.id.substr(0, 3)) + "*");
  }
  std::vector<std::string_view> known;
  if (rule.find_first_of("*?[") != std::string::npos)
    known.assign(families.begin(), families.end());
  else
    for (const auto& each : analysis::rules()) known.push_back(each.id);
  fail(source, node, "there is no rule " + rule + mapping::did_you_mean(rule, known));
}

// A finding that keeps a model from converting can be allowed, with a reason, but not lowered.
void check_may_be_lowered(const Source& source, const Node& node, const RuleSetting& setting) {
  if (setting.severity == Severity::error) return;
  for (const auto& rule : analysis::rules())
    if (rule.severity == Severity::error && rule.id < "CC1" && policy::matches(setting.rule, std::string(rule.id)))
      fail(source, node,
           std::string(rule.id) +
               " means that a model doesn't convert, so it stays an error; to allow such a finding, add an `allow` entry with a "
               "reason");
}

void read_rules(const Source& source, const Node& node, Configuration& configuration) {
  if (!node.is_map()) fail(source, node, "`rules` maps rules to severities: {CC004: off}");
  for (const auto& [rule, content] : node.pairs) {
    RuleSetting made{rule_pattern(source, rule), {}, place(source, rule)};
    const std::string word = scalar(source, content, "a severity");
    if (word == "error")
      made.severity = Severity::error;
    else if (word == "warning")
      made.severity = Severity::warning;
    else if (word == "note")
      made.severity = Severity::note;
    else if (word != "off")
      fail(source, content, word + " is no severity: error, warning, note or off" + mapping::did_you_mean(word, severity_words));
    check_may_be_lowered(source, content, made);
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
  if (!process::is_day(text)) fail(source, node, text + " is no day as 2027-01-31");
  return text;
}

// Spaces of Unicode's, and what has no shape at all.
bool is_blank(std::uint32_t letter) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 12> blank{{{0, 0x20},
                                                                           {0x7f, 0xa0},
                                                                           {0xad, 0xad},
                                                                           {0x34f, 0x34f},
                                                                           {0x115f, 0x1160},
                                                                           {0x1680, 0x1680},
                                                                           {0x180e, 0x180e},
                                                                           {0x2000, 0x200f},
                                                                           {0x2028, 0x202f},
                                                                           {0x205f, 0x206f},
                                                                           {0x3000, 0x3000},
                                                                           {0xfeff, 0xfeff}}};
  return std::ranges::any_of(blank, [&](const auto& range) { return range.first <= letter && letter <= range.second; });
}

// The reader of YAML takes UTF-8 alone.
bool is_visible(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    std::uint32_t letter = first < 0x80 ? first : first < 0xe0 ? first & 0x1fu : first < 0xf0 ? first & 0x0fu : first & 0x07u;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
      letter = letter << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fu);
    if (!is_blank(letter)) return true;
  }
  return false;
}

std::string visible(const Source& source, const Node& key, const Node& value, const std::string& what) {
  if (value.is_null() || (value.is_scalar() && !is_visible(value.text)))
    fail(source, key, what + ": `" + key.text + "` must not be empty");
  return scalar(source, value, "a text");
}

// A profile's file stands for its engine.
void read_target(const Source& source, const std::filesystem::path& folder, const Node& node, AllowEntry& entry) {
  entry.target = scalar(source, node, "an engine");
  if (!engines::names_file(entry.target)) return;
  entry.profile = resolved_profile(folder, entry.target);
  try {
    entry.target = engines::profile_of(entry.profile.string()).target();
  } catch (const TableError& error) {
    fail(source, node, error.what());
  }
}

AllowEntry allow_entry(const Source& source, const std::filesystem::path& folder, const Node& node) {
  if (!node.is_map()) fail(source, node, "an entry is a map: {op: aten::foo, reason: \"…\"}");
  AllowEntry entry;
  entry.source = place(source, node);
  for (const auto& [key, value] : node.pairs) {
    if (key.text == "reason")
      entry.reason = visible(source, key, value, "say why");
    else if (key.text == "op")
      entry.op = pattern(source, value, "an operator");
    else if (key.text == "rule")
      entry.rule = rule_pattern(source, value);
    else if (key.text == "model")
      entry.model = pattern(source, value, "a path");
    else if (key.text == "opset")
      entry.opset = opset_of(source, value);
    else if (key.text == "target")
      read_target(source, folder, value, entry);
    else if (key.text == "module")
      entry.module = pattern(source, value, "a module");
    else if (key.text == "expires")
      entry.expires = day_of(source, value);
    else if (key.text == "owner")
      entry.owner = visible(source, key, value, "say who");
    else
      mapping::reading::unknown_key(source, key, "an allow entry", allow_keys);
  }
  if (entry.op.empty() && entry.rule.empty()) fail(source, node, "an entry names an operator or a rule: `op` or `rule`");
  if (entry.reason.empty()) fail(source, node, "`reason` is missing: say why the finding is allowed");
  return entry;
}

void read_allow(const Source& source, const std::filesystem::path& folder, const Node& node, Configuration& configuration) {
  if (node.is_null()) return;
  if (!node.is_list()) fail(source, node, "`allow` is a list of entries");
  for (const Node& item : node.items) configuration.allow.push_back(allow_entry(source, folder, item));
}

void read_key(const Source& source, const std::filesystem::path& folder, const Node& key, const Node& value,
              Configuration& configuration) {
  if (key.text == "version") {
    if (!value.is_scalar() || value.text != "1")
      fail(source, value, "this version of compatcheck reads configurations of version 1");
  } else if (key.text == "rules") {
    if (!value.is_null()) read_rules(source, value, configuration);
  } else if (key.text == "allow") {
    read_allow(source, folder, value, configuration);
  } else {
    const auto found =
        std::find_if(option_keys.begin(), option_keys.end(), [&](const Key& known) { return known.name == key.text; });
    if (found == option_keys.end()) {
      std::vector<std::string_view> names(other_keys.begin(), other_keys.end());
      for (const Key& known : option_keys) names.push_back(known.name);
      mapping::reading::unknown_key(source, key, "the configuration", names);
    }
    if (!value.is_null()) configuration.settings.push_back(setting(source, folder, *found, key, value));
  }
}

}  // namespace

Configuration policy::parse_configuration(std::string_view text, const std::string& name, const std::filesystem::path& folder) {
  const Source source(text, name);
  const Node root = yaml::parse(source);
  Configuration configuration;
  configuration.file = name;
  if (root.is_null()) return configuration;
  if (!root.is_map()) fail(source, root, "a configuration is a map: {opset: 17, fail_on: missing}");
  for (const auto& [key, value] : root.pairs) read_key(source, folder, key, value, configuration);
  return configuration;
}

Configuration read_configuration(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    constexpr std::size_t max_bytes = 16 << 20;  // the reader of YAML takes less, and says so with the place
    const std::string text = policy::read_text(file, max_bytes);
    std::error_code error;
    const bool has_folder = std::filesystem::is_regular_file(file, error);
    return policy::parse_configuration(text, file.string(), has_folder ? file.parent_path() : std::filesystem::path());
  });
}

std::optional<std::filesystem::path> find_configuration(const std::filesystem::path& folder) {
  std::error_code error;
  const auto start = std::filesystem::absolute(folder, error);
  if (error) return std::nullopt;
  for (auto at = start.lexically_normal();; at = at.parent_path()) {
    for (const char* name : {"compatcheck.yaml", ".compatcheck.yaml"}) {
      const std::filesystem::path file = at / name;
      if (!std::filesystem::exists(std::filesystem::symlink_status(file, error)) || error)
        continue;  // absent, or in a folder that isn't readable
      if (const std::string why = policy::why_no_file(file); !why.empty()) throw UsageError(why);
      if (!std::filesystem::is_regular_file(file, error))
        throw UsageError(file.string() + " is no regular file; name a configuration, or read none");
      return file;
    }
    if (at == at.parent_path()) return std::nullopt;
  }
}

}  // namespace compatcheck
