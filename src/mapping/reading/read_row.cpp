// One row: what an operator becomes, or why it doesn't.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::mapping::reading {

using yaml::Node;
using yaml::Source;
using yaml::fail;

namespace {

constexpr std::array<std::string_view, 12> row_keys = {"to",   "missing",    "refuse", "hint",   "when",        "requires",
                                                       "inputs", "attributes", "lifted", "random", "approximate", "complex"};

constexpr std::array<std::pair<std::string_view, ArgumentKind>, 9> kinds = {{
    {"value", ArgumentKind::value},     {"int", ArgumentKind::integer},  {"float", ArgumentKind::floating},
    {"ints", ArgumentKind::integers},   {"floats", ArgumentKind::floats}, {"string", ArgumentKind::string},
    {"bool", ArgumentKind::boolean},    {"dtype", ArgumentKind::dtype},  {"none", ArgumentKind::none},
}};

// "Relu", or "domain::Name".
bool is_onnx_name(std::string_view name) {
  const auto colons = name.rfind("::");
  if (colons == std::string_view::npos) return is_identifier(name);
  const std::string_view domain = name.substr(0, colons);
  const auto in_domain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-'; };
  return !domain.empty() && std::all_of(domain.begin(), domain.end(), in_domain) && is_identifier(name.substr(colons + 2));
}

std::string onnx_name(const Source& source, const Node& node) {
  if (!node.is_scalar() || !is_onnx_name(node.text))
    fail(source, node, (node.is_scalar() ? "`" + node.text + "`" : std::string("this")) + " isn't the name of an ONNX operator");
  return node.text;
}

std::string argument_name(const Source& source, const Node& node, std::string_view where) {
  if (!node.is_scalar() || !is_identifier(node.text)) fail(source, node, std::string(where) + ": the name of an argument is wanted");
  return node.text;
}

std::vector<std::string> onnx_names(const Source& source, const Node& node) {
  if (!node.is_list()) return {onnx_name(source, node)};
  if (node.items.empty()) fail(source, node, "`to` names no operator");
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const Node& item : node.items) {
    names.push_back(onnx_name(source, item));
    if (!seen.insert(item.text).second) fail(source, item, "`" + item.text + "` stands twice in `to`");
  }
  return names;
}

std::vector<std::string> names(const Source& source, const Node& node, std::string_view key) {
  if (!node.is_list()) return {argument_name(source, node, key)};
  std::vector<std::string> made;
  for (const Node& item : node.items) made.push_back(argument_name(source, item, key));
  return made;
}

std::vector<Literal> literals(const Source& source, const Node& node) {
  std::vector<Literal> made;
  for (const Node& item : node.items) made.push_back(literal(source, item));
  return made;
}

Binding binding(const Source& source, const Node& node) {
  Binding made;
  if (node.is_list()) {
    made.constant = literals(source, node);
    made.constant_is_list = true;
    return made;
  }
  if (node.is_map()) {
    if (node.pairs.size() != 1) fail(source, node, "one key is wanted: `constant`, or the kind of an argument");
    const auto& [key, value] = node.pairs.front();
    if (key.text == "constant") {
      if (value.is_list()) return binding(source, value);
      made.constant = {literal(source, value)};
      return made;
    }
    std::vector<std::string_view> known = {"constant"};
    for (const auto& [name, kind] : kinds) {
      if (key.text == name) {
        made.kind = kind;
        made.argument = argument_name(source, value, "`" + std::string(name) + "`");
        return made;
      }
      known.push_back(name);
    }
    fail(source, key, "`" + key.text + "` isn't a kind of argument" + did_you_mean(key.text, known));
  }
  const Literal constant = literal(source, node);
  if (const auto* name = std::get_if<std::string>(&constant)) {
    if (node.quoted || !is_identifier(*name)) fail(source, node, "an argument's name is wanted; a string as it is: {constant: \"" + *name + "\"}");
    made.argument = *name;
    return made;
  }
  if (node.is_null()) fail(source, node, "an argument, or a constant, is wanted");
  made.constant = {constant};
  return made;
}

std::vector<std::pair<std::string, Binding>> attributes(const Source& source, const Node& node) {
  if (!node.is_map() || node.pairs.empty()) fail(source, node, "`attributes` maps ONNX attributes to arguments or constants");
  std::vector<std::pair<std::string, Binding>> made;
  for (const auto& [key, value] : node.pairs) {
    if (!is_identifier(key.text)) fail(source, key, "`" + key.text + "` isn't the name of an attribute");
    made.emplace_back(key.text, binding(source, value));
  }
  return made;
}

// What a row of one kind may not say.
void check_combination(const Source& source, const Node& node, const Row& row) {
  const auto refuse = [&](std::initializer_list<std::string_view> keys, const std::string& why) {
    for (const auto& [key, value] : node.pairs)
      if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) fail(source, key, "`" + key.text + "` " + why);
  };
  if (row.kind == Row::Kind::mapped) {
    refuse({"hint"}, "goes with `missing` or `refuse`");
  } else {
    refuse({"inputs", "attributes", "lifted", "random", "approximate", "complex"}, "goes with `to`");
    if (row.kind == Row::Kind::missing) refuse({"when", "requires"}, "doesn't go with `missing`, which holds for every call; use `refuse`");
  }
}

void set(Row& row, const Source& source, const Node& key, const Node& value) {
  const std::string_view word = key.text;
  if (word == "to") row.to = onnx_names(source, value);
  else if (word == "missing") row.kind = Row::Kind::missing, row.reason = text(source, value, "`missing`");
  else if (word == "refuse") row.kind = Row::Kind::refuse, row.reason = text(source, value, "`refuse`");
  else if (word == "hint") row.hint = text(source, value, "`hint`");
  else if (word == "when") row.when = conditions(source, value);
  else if (word == "requires") row.required = names(source, value, "`requires`");
  else if (word == "inputs") row.inputs = names(source, value, "`inputs`");
  else if (word == "attributes") row.attributes = attributes(source, value);
  else if (word == "lifted") row.lifted = text(source, value, "`lifted`");
  else if (word == "random") row.random = boolean(source, value, "random");
  else if (word == "approximate") row.approximate = text(source, value, "`approximate`");
  else if (word == "complex") row.complex = boolean(source, value, "complex");
  else unknown_key(source, key, "a row", row_keys);
}

}  // namespace

Literal literal(const Source& source, const Node& node) {
  if (node.is_null()) return std::monostate{};
  if (!node.is_scalar()) fail(source, node, "a single value is wanted");
  const std::string& text = node.text;
  if (node.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  if (text == ".inf" || text == "+.inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf") return -std::numeric_limits<double>::infinity();
  if (text == ".nan") return std::numeric_limits<double>::quiet_NaN();
  const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const last = text.data() + text.size();
  const std::size_t digit = text.find_first_not_of("+-.");
  if (digit == std::string::npos || !std::isdigit(static_cast<unsigned char>(text[digit]))) return text;
  std::int64_t integer = 0;
  const auto whole = std::from_chars(first, last, integer);
  if (whole.ptr == last && whole.ec == std::errc()) return integer;
  double number = 0;
  const auto floating = std::from_chars(first, last, number);
  if (floating.ptr == last && floating.ec == std::errc() && whole.ec != std::errc::result_out_of_range) return number;
  if (floating.ptr == last) fail(source, node, "`" + text + "` is out of range");
  return text;
}

Validity validity(const Source& source, const Node& node) {
  static constexpr std::array<std::string_view, 2> keys = {"when", "requires"};
  if (!node.is_map() || node.pairs.empty()) fail(source, node, "`valid` holds `when` or `requires`: {when: {stride: {each: {min: 1}}}}");
  Validity made;
  for (const auto& [key, value] : node.pairs) {
    if (key.text == "when") made.when = conditions(source, value);
    else if (key.text == "requires") made.required = names(source, value, "`requires`");
    else unknown_key(source, key, "`valid`", keys);
  }
  return made;
}

Row row(const Source& source, const Node& node) {
  Row made;
  made.place = source.place(node);
  if (node.is_scalar()) {
    made.to = {onnx_name(source, node)};
    return made;
  }
  if (!node.is_map()) fail(source, node, "a row is an ONNX operator, or a map with `to`, `missing` or `refuse`");
  int said = 0;
  for (const auto& [key, value] : node.pairs) {
    set(made, source, key, value);
    said += key.text == "to" || key.text == "missing" || key.text == "refuse";
  }
  if (said != 1) fail(source, node, "a row says one of `to`, `missing` and `refuse`");
  check_combination(source, node, made);
  return made;
}

}  // namespace compatcheck::mapping::reading
