#include "engines/reading/read_profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>

#include "engines/reading/names.h"
#include "engines/reading/other_types.h"
#include "ir/dtype.h"
#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::engines {
namespace {

using mapping::reading::boolean;
using mapping::reading::text;
using mapping::reading::unknown_key;
using mapping::yaml::fail;
using mapping::yaml::Node;
using mapping::yaml::Source;

constexpr std::array<std::string_view, 19> profile_keys = {
    "engine",          "title",  "version",      "source", "date",   "opsets", "ir",    "match",    "unlisted", "functions",
    "local_functions", "behind", "initializers", "own",    "dtypes", "reads",  "casts", "fallback", "operators"};
constexpr std::array<std::string_view, 7> entry_keys = {"versions", "types", "when", "unknown", "uncertain", "no", "note"};
constexpr std::string_view places[] = {"inputs.", "outputs."};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1000) return std::nullopt;
  return value;
}

int only_number(const Source& source, const Node& node, const std::string& what) {
  if (const auto value = number(text(source, node, what))) return *value;
  fail(source, node, "`" + node.text + "` isn't " + what + ", a number");
}

// "2026-10-01", of the calendar.
std::string date(const Source& source, const Node& node) {
  std::string stated = text(source, node, "`date`");
  const bool spelled = stated.size() == 10 && stated[4] == '-' && stated[7] == '-';
  const auto part = [&](std::size_t at, std::size_t size) -> unsigned {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(stated.data() + at, stated.data() + at + size, value);
    return error == std::errc() && end == stated.data() + at + size ? value : 0;
  };
  if (!spelled || !std::chrono::year_month_day(std::chrono::year(static_cast<int>(part(0, 4))), std::chrono::month(part(5, 2)),
                                               std::chrono::day(part(8, 2)))
                       .ok())
    fail(source, node, "`" + stated + "` is no date: 2026-10-01");
  return stated;
}

// "6-12", or "13" with the end that the caller means by it.
Versions versions(const Source& source, const Node& node, std::optional<int> end) {
  const std::string stated = text(source, node, "a version");
  const auto dash = stated.find('-');
  const auto first = number(stated.substr(0, dash)), last = dash == std::string::npos ? first : number(stated.substr(dash + 1));
  if (!first || !last || *first > *last) fail(source, node, "`" + stated + "` is no version and no range of versions (6-12)");
  return {*first, dash == std::string::npos && end ? *end : *last};
}

std::vector<Versions> versions_of(const Source& source, const Node& node, const OperatorNames& known) {
  const auto one = [&](const Node& stated) {
    const Versions made = versions(source, stated, known.match() == Match::model ? std::optional(no_end) : std::nullopt);
    known.check(source, stated, made);
    return made;
  };
  if (!node.is_list() || known.match() == Match::model) return {one(node)};
  if (known.match() != Match::since) fail(source, node, "one range a list entry; lists are for `match: since`");
  std::vector<Versions> made;
  for (const Node& item : node.items) made.push_back(one(item));
  return made;
}

std::vector<std::string> names(const Source& source, const Node& node, std::string_view what) {
  if (!node.is_list()) fail(source, node, std::string(what) + " is a list");
  std::vector<std::string> made;
  for (const Node& item : node.items) made.push_back(text(source, item, std::string(what)));
  return made;
}

std::string dtype(const Source& source, const Node& node) {
  std::string name = text(source, node, "a dtype");
  if (ir::dtype_from_name(name) || is_other_type(name)) return name;
  std::vector<std::string_view> known;
  for (int i = 0; i < 30; ++i)
    if (const auto type = ir::dtype_from_number(i)) known.push_back(ir::name(*type));
  fail(source, node, "`" + name + "` is no dtype" + mapping::did_you_mean(name, known));
}

// "f32", "seq(f32)", or "seq".
std::string type(const Source& source, const Node& node) {
  const std::string name = text(source, node, "a type");
  if (name == "seq") return name;
  if (!name.starts_with("seq(") || !name.ends_with(")")) return dtype(source, node);
  Node inner = node;
  inner.text = name.substr(4, name.size() - 5);
  return "seq(" + dtype(source, inner) + ")";
}

std::vector<std::string> dtypes(const Source& source, const Node& node) {
  if (!node.is_list() || node.items.empty()) fail(source, node, "expected a list of types: [f32, f16]");
  std::vector<std::string> made;
  for (const Node& item : node.items) made.push_back(type(source, item));
  return made;
}

bool names_values(std::string_view name) {
  for (const std::string_view place : places)
    if (name.starts_with(place) && number("1" + std::string(name.substr(place.size())))) return true;
  return mapping::reading::is_identifier(name);
}

std::vector<TypeList> types(const Source& source, const Node& node) {
  if (!node.is_map() || node.pairs.empty())
    fail(source, node, "`types` maps type parameters, inputs or outputs to types: {T: [f32]}");
  std::vector<TypeList> made;
  for (const auto& [key, value] : node.pairs) {
    if (!names_values(key.text))
      fail(source, key, "`" + key.text + "` isn't the name of a type parameter, an input or an output");
    TypeList one{.of = key.text, .excluded = value.is_map(), .names = {}};
    if (value.is_map() && (value.pairs.size() != 1 || value.pairs.front().first.text != "not"))
      fail(source, value, "expected a list of types, or {not: [f64]}");
    one.names = dtypes(source, value.is_map() ? value.pairs.front().second : value);
    made.push_back(std::move(one));
  }
  return made;
}

void set_support(Entry& entry, const Source& source, const Node& key, const Node& value, Support support) {
  if (!entry.words.empty()) fail(source, key, "an entry has one of `no`, `unknown` and `uncertain`");
  entry.support = support;
  entry.words = text(source, value, "why");
}

// Once the entry's versions are known.
void check_names(const Source& source, const Node& node, const Entry& entry, const OperatorNames& known) {
  const auto names = known.in(entry.versions);
  for (const auto& [key, value] : node.pairs)
    if (key.text == "types")
      for (const auto& [name, list] : value.pairs) names.check_type(source, name);
  for (const auto& conditions : entry.when)
    for (const auto& condition : conditions) names.check_condition(source, condition);
}

Entry entry(const Source& source, const Node& node, const OperatorNames& known) {
  const Match match = known.match();
  Entry made;
  made.place = source.place(node);
  if (node.is_scalar() && !node.quoted) {
    if (node.text == "yes" && match != Match::model)
      fail(source, node, "an entry says its `versions` where they decide (`match`)");
    made.support = node.text == "yes" ? Support::yes : node.text == "no" ? Support::no : Support::unknown;
    if (node.text == "yes" || node.text == "no" || node.text == "unknown") return made;
  }
  if (!node.is_map() || node.pairs.empty())
    fail(source, node, "an entry is yes, no, unknown, or says for what it holds: {versions: 13, types: {T: [f32]}}");
  for (const auto& [key, value] : node.pairs) {
    if (key.text == "versions")
      made.versions = versions_of(source, value, known);
    else if (key.text == "types")
      made.types = types(source, value);
    else if (key.text == "when")
      made.when = mapping::reading::conditions(source, value);
    else if (key.text == "unknown")
      set_support(made, source, key, value, Support::unknown);
    else if (key.text == "uncertain")
      set_support(made, source, key, value, Support::unknown), made.decides = true;
    else if (key.text == "no")
      set_support(made, source, key, value, Support::no);
    else if (key.text == "note")
      made.note = text(source, value, "`note`");
    else
      unknown_key(source, key, "an entry", entry_keys);
  }
  if (match != Match::model && made.versions.empty() && made.support == Support::yes)
    fail(source, node, "an entry says its `versions` where they decide (`match`)");
  if (made.support == Support::no && !(made.when.empty() && made.types.empty())) made.decides = true;
  check_names(source, node, made, known);
  return made;
}

std::vector<OperatorEntries> operators(const Source& source, const Node& node, Match match) {
  if (!node.is_map()) fail(source, node, "`operators` maps operators to the supported versions");
  std::vector<OperatorEntries> made;
  for (const auto& [key, value] : node.pairs) {
    const OperatorNames known(source, key, match);
    OperatorEntries one{.name = key.text, .entries = {}};
    if (value.is_list()) {
      if (value.items.empty()) fail(source, value, "an operator without an entry");
      for (const Node& item : value.items) one.entries.push_back(entry(source, item, known));
    } else {
      one.entries.push_back(entry(source, value, known));
    }
    made.push_back(std::move(one));
  }
  std::ranges::sort(made, {}, &OperatorEntries::name);
  return made;
}

std::vector<std::string> initializers(const Source& source, const Node& node) {
  std::vector<std::string> made = names(source, node, "`initializers`");
  for (const Node& item : node.items) check_operator(source, item);
  return made;
}

std::vector<std::string> own(const Source& source, const Node& node) {
  std::vector<std::string> made = names(source, node, "`own`");
  for (const Node& item : node.items)
    if (!onnx::versions(item.text).empty()) fail(source, item, "`" + item.text + "` is ONNX's: it belongs to `operators`");
  return made;
}

template <class Value>
Value one_of(const Source& source, const Node& node, std::span<const std::pair<std::string_view, Value>> words) {
  std::string known;
  for (const auto& [word, value] : words) {
    if (node.is_scalar() && node.text == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  fail(source, node, "expected one of: " + known);
}

constexpr std::pair<std::string_view, Match> match_words[] = {
    {"kernel", Match::kernel}, {"since", Match::since}, {"model", Match::model}};
constexpr std::pair<std::string_view, Support> unlisted_words[] = {{"no", Support::no}, {"unknown", Support::unknown}};

std::vector<std::pair<std::string, std::string>> casts(const Source& source, const Node& node, const std::string& key) {
  if (!node.is_map()) fail(source, node, "`" + key + "` maps dtypes to what becomes of them: {f16: f32}");
  std::vector<std::pair<std::string, std::string>> made;
  for (const auto& [from, to] : node.pairs) made.emplace_back(dtype(source, from), dtype(source, to));
  return made;
}

void set(Profile& made, const Source& source, const Node& key, const Node& value) {
  const std::string& word = key.text;
  if (word == "engine")
    made.engine = text(source, value, "`engine`");
  else if (word == "title")
    made.title = text(source, value, "`title`");
  else if (word == "version")
    made.version = text(source, value, "`version`");
  else if (word == "source")
    made.source = text(source, value, "`source`");
  else if (word == "date")
    made.date = date(source, value);
  else if (word == "opsets")
    made.opsets = versions(source, value, std::nullopt);
  else if (word == "ir")
    made.ir = only_number(source, value, "an IR version");
  else if (word == "match")
    made.match = one_of<Match>(source, value, match_words);
  else if (word == "unlisted")
    made.unlisted = one_of<Support>(source, value, unlisted_words);
  else if (word == "functions")
    made.functions = boolean(source, value, word);
  else if (word == "local_functions")
    made.local_functions = boolean(source, value, word);
  else if (word == "behind")
    made.behind = {text(source, value, "`behind`"), source.place(value)};
  else if (word == "initializers")
    made.initializers = initializers(source, value);
  else if (word == "own")
    made.own = own(source, value);
  else if (word == "dtypes")
    made.dtypes = dtypes(source, value);
  else if (word == "casts")
    made.casts = casts(source, value, word);
  else if (word == "reads")
    made.reads = casts(source, value, word);
  else if (word == "fallback")
    made.fallback = text(source, value, "`fallback`");
  else if (word != "operators")
    unknown_key(source, key, "an engine profile", profile_keys);
}

bool is_engine_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

bool is_profile(const Source& source) {
  const Node root = mapping::yaml::parse(source);
  return std::ranges::any_of(
      root.pairs, [](const auto& pair) { return std::ranges::find(profile_keys, pair.first.text) != profile_keys.end(); });
}

Profile read_profile(const Source& source) {
  const Node root = mapping::yaml::parse(source);
  if (!root.is_map())
    fail(source, mapping::Place{source.name(), std::max(root.line, 1), std::max(root.column, 1)},
         "an engine profile is a map: engine, version, match, operators …");  // an empty one has no place
  Profile made;
  const Node* entries = nullptr;
  for (const auto& [key, value] : root.pairs) {
    set(made, source, key, value);
    if (key.text == "operators") entries = &value;
  }
  if (!is_engine_name(made.engine)) fail(source, root, "`engine` is a name of small letters, digits, '-', '_' and '.'");
  if (made.version.empty()) fail(source, root, "`version` is missing");
  if (!entries) fail(source, root, "`operators` is missing");
  made.operators = operators(source, *entries, made.match);  // `match` says how they are read
  if (made.title.empty()) made.title = made.engine;
  return made;
}

const OperatorEntries* Profile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(operators, name, {}, &OperatorEntries::name);
  return found == operators.end() || found->name != name ? nullptr : &*found;
}

}  // namespace compatcheck::engines
