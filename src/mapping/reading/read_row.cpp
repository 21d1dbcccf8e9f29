// One row: what an operator becomes, or why it doesn't.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"
#include "onnx/function_text.h"

namespace compatcheck::mapping::reading {

using yaml::fail;
using yaml::Node;
using yaml::Source;

namespace {

constexpr std::array<std::string_view, 15> row_keys = {"to",         "variant", "function", "inline",      "missing",
                                                       "refuse",     "hint",    "when",     "requires",    "inputs",
                                                       "attributes", "lifted",  "random",   "approximate", "complex"};

constexpr std::array<std::pair<std::string_view, ArgumentKind>, 9> kinds = {{
    {"value", ArgumentKind::value},
    {"int", ArgumentKind::integer},
    {"float", ArgumentKind::floating},
    {"ints", ArgumentKind::integers},
    {"floats", ArgumentKind::floats},
    {"string", ArgumentKind::string},
    {"bool", ArgumentKind::boolean},
    {"dtype", ArgumentKind::dtype},
    {"none", ArgumentKind::none},
}};

std::string onnx_name(const Source& source, const Node& node) {
  if (!node.is_scalar() || !is_onnx_name(node.text))
    fail(source, node, (node.is_scalar() ? "`" + node.text + "`" : std::string("this")) + " isn't the name of an ONNX operator");
  return node.text;
}

std::string argument_name(const Source& source, const Node& node, std::string_view where) {
  if (!node.is_scalar() || !is_identifier(node.text))
    fail(source, node, std::string(where) + ": expected the name of an argument");
  return node.text;
}

std::vector<std::string> onnx_names(const Source& source, const Node& node) {
  if (!node.is_list()) return {onnx_name(source, node)};
  if (node.items.empty()) fail(source, node, "`to` names no operator");
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const Node& item : node.items) {
    names.push_back(onnx_name(source, item));
    if (!seen.insert(item.text).second) fail(source, item, "`" + item.text + "` is in `to` twice");
  }
  return names;
}

std::vector<std::string> names(const Source& source, const Node& node, std::string_view key) {
  if (!node.is_list()) return {argument_name(source, node, key)};
  std::vector<std::string> made;
  for (const Node& item : node.items) made.push_back(argument_name(source, item, key));
  return made;
}

// An argument of a kind; or, under a kind, a constant of that kind.
Binding of_kind(const Source& source, const Node& key, const Node& value, ArgumentKind kind) {
  Binding made;
  made.kind = kind;
  const bool text =
      value.is_scalar() && (value.quoted || is_identifier(value.text)) && value.text != "true" && value.text != "false";
  if (text && !value.quoted) {
    made.argument = value.text;
    return made;
  }
  made.constant_is_list = value.is_list();
  made.constant = value.is_list() ? literals(source, value) : std::vector<Literal>{literal(source, value)};
  const std::string& word = key.text;
  const auto fits = [&](const Literal& one) {
    switch (kind) {
      case ArgumentKind::integer:
      case ArgumentKind::integers: return std::holds_alternative<std::int64_t>(one);
      case ArgumentKind::floating:
      case ArgumentKind::floats: return std::holds_alternative<std::int64_t>(one) || std::holds_alternative<double>(one);
      case ArgumentKind::string: return std::holds_alternative<std::string>(one);
      case ArgumentKind::boolean: return std::holds_alternative<bool>(one);
      default: return false;
    }
  };
  const bool list = kind == ArgumentKind::integers || kind == ArgumentKind::floats;
  if (list != made.constant_is_list || !std::all_of(made.constant.begin(), made.constant.end(), fits))
    fail(source, value,
         "`" + word + "`: expected the name of an argument" +
             (kind == ArgumentKind::value || kind == ArgumentKind::dtype || kind == ArgumentKind::none
                  ? std::string()
                  : ", or a constant that is " + word));
  if (kind == ArgumentKind::floating || kind == ArgumentKind::floats)
    for (Literal& one : made.constant)
      if (const auto* whole = std::get_if<std::int64_t>(&one)) one = static_cast<double>(*whole);
  return made;
}

// An ONNX attribute, and a tensor, hold things of one type.
void demand_one_type(const Source& source, const Node& list, const std::vector<Literal>& members) {
  const auto type_of = [](const Literal& one) {
    return std::holds_alternative<double>(one) ? Literal(std::int64_t{}).index() : one.index();
  };
  for (std::size_t i = 0; i < members.size(); ++i)
    if (std::holds_alternative<std::monostate>(members[i]) || type_of(members[i]) != type_of(members.front()))
      fail(source, list.items[i], "a list holds numbers, or strings, or booleans: members of one type");
}

Binding binding(const Source& source, const Node& node) {
  Binding made;
  if (node.is_list()) {
    made.constant = literals(source, node);
    demand_one_type(source, node, made.constant);
    made.constant_is_list = true;
    return made;
  }
  if (node.is_map()) {
    if (node.pairs.size() != 1) fail(source, node, "expected one key: `constant`, or the kind of an argument");
    const auto& [key, value] = node.pairs.front();
    if (key.text == "constant") {
      if (value.is_list()) return binding(source, value);
      made.constant = {literal(source, value)};
      return made;
    }
    std::vector<std::string_view> known = {"constant"};
    for (const auto& [name, kind] : kinds) {
      if (key.text == name) return of_kind(source, key, value, kind);
      known.push_back(name);
    }
    fail(source, key, "`" + key.text + "` isn't a kind of argument" + did_you_mean(key.text, known));
  }
  const Literal constant = literal(source, node);
  if (const auto* name = std::get_if<std::string>(&constant)) {
    if (node.quoted || !is_identifier(*name))
      fail(source, node, "expected an argument's name; write a string as {constant: \"" + *name + "\"}");
    made.argument = *name;
    return made;
  }
  if (node.is_null()) fail(source, node, "expected an argument or a constant");
  made.constant = {constant};
  return made;
}

// Arguments, and constants that become tensors.
std::vector<Binding> inputs(const Source& source, const Node& node) {
  const auto one = [&](const Node& item) {
    if (item.is_scalar() && item.quoted) fail(source, item, "`inputs`: expected the name of an argument");
    Binding made;
    if (item.is_null())
      made.kind = ArgumentKind::none;
    else
      made = binding(source, item);
    const bool text = std::any_of(made.constant.begin(), made.constant.end(), [](const Literal& l) {
      return !std::holds_alternative<double>(l) && !std::holds_alternative<std::int64_t>(l) && !std::holds_alternative<bool>(l);
    });
    if (text || (made.constant_is_list && made.constant.empty()))
      fail(source, item, "`inputs`: expected an argument, a number or a list of numbers");
    return made;
  };
  if (!node.is_list()) return {one(node)};
  std::vector<Binding> made;
  for (const Node& item : node.items) made.push_back(one(item));
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

// Returns the place of a text's first character: the first line after the key for a block (`|`), the one after the quote for a
// quoted text.
Place text_place(const Source& source, const Node& node) {
  const std::string first = node.text.substr(0, node.text.find('\n'));
  for (const int line : {node.line + 1, node.line}) {
    const std::string_view shown = yaml::line_of(source.text(), line);
    const auto at = first.empty() ? std::string_view::npos
                                  : shown.find(first, line == node.line ? static_cast<std::size_t>(node.column - 1) : 0);
    if (at != std::string_view::npos &&
        (line == node.line || shown.find_first_not_of(' ') == at + std::min(first.find_first_not_of(' '), first.size())))
      return {source.name(), line, static_cast<int>(at) + 1};
  }
  return source.place(node);
}

Body body(const Source& source, const Node& key, const Node& value) {
  Body made;
  made.is_inlined = key.text == "inline";
  made.text = text(source, value, "`" + key.text + "`");
  made.place = text_place(source, value);
  try {
    made.functions = std::make_shared<const onnx::FunctionText>(made.text);
  } catch (const onnx::TextFault& fault) {
    fail(source, place_in(made, fault.line, fault.column), "ONNX text: " + fault.message);
  }
  return made;
}

// Rejects keys that a row of its kind may not have.
void check_combination(const Source& source, const Node& node, const Row& row) {
  const auto refuse = [&](std::initializer_list<std::string_view> keys, const std::string& why) {
    for (const auto& [key, value] : node.pairs)
      if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) fail(source, key, "`" + key.text + "` " + why);
  };
  if (row.kind == Row::Kind::mapped) {
    refuse({"hint"}, "goes with `missing` or `refuse`");
    if (row.body) refuse({"to"}, "is implied by the ONNX functions of the row");
    if (row.body) refuse({"variant"}, "is a way of the operator's handler, which doesn't write ONNX text");
  } else {
    refuse({"inputs", "attributes", "lifted", "random", "approximate", "complex"}, "goes with `to`, `function` or `inline`");
    refuse({"variant"}, "goes with `to`");
    if (row.kind == Row::Kind::missing)
      refuse({"when", "requires"}, "doesn't go with `missing`, which holds for every call; use `refuse`");
  }
}

void set_key(Row& row, const Source& source, const Node& key, const Node& value) {
  const std::string_view word = key.text;
  if (word == "to")
    row.to = onnx_names(source, value);
  else if (word == "variant")
    row.variant = argument_name(source, value, "`variant`");
  else if (word == "missing")
    row.kind = Row::Kind::missing, row.reason = text(source, value, "`missing`");
  else if (word == "refuse")
    row.kind = Row::Kind::refuse, row.reason = text(source, value, "`refuse`");
  else if (word == "hint")
    row.hint = text(source, value, "`hint`");
  else if (word == "when")
    row.when = conditions(source, value);
  else if (word == "requires")
    row.required = names(source, value, "`requires`");
  else if (word == "function" || word == "inline")
    row.body = body(source, key, value);
  else if (word == "inputs")
    row.inputs = inputs(source, value);
  else if (word == "attributes")
    row.attributes = attributes(source, value);
  else if (word == "lifted")
    row.lifted = text(source, value, "`lifted`");
  else if (word == "random")
    row.random = boolean(source, value, "random");
  else if (word == "approximate")
    row.approximate = text(source, value, "`approximate`");
  else if (word == "complex")
    row.complex = boolean(source, value, "complex");
  else
    unknown_key(source, key, "a row", row_keys);
}

}  // namespace

bool is_onnx_name(std::string_view name) {
  const auto colons = name.rfind("::");
  if (colons == std::string_view::npos) return is_identifier(name);
  const std::string_view domain = name.substr(0, colons);
  const auto in_domain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-'; };
  return !domain.empty() && std::all_of(domain.begin(), domain.end(), in_domain) && is_identifier(name.substr(colons + 2));
}

Literal literal(const Source& source, const Node& node) {
  if (node.is_null()) return std::monostate{};
  if (!node.is_scalar()) fail(source, node, "expected a single value");
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

std::vector<Literal> literals(const Source& source, const Node& node) {
  std::vector<Literal> made;
  for (const Node& item : node.items) made.push_back(literal(source, item));
  return made;
}

Validity validity(const Source& source, const Node& node) {
  static constexpr std::array<std::string_view, 2> keys = {"when", "requires"};
  if (!node.is_map() || node.pairs.empty())
    fail(source, node, "`valid` holds `when` or `requires`: {when: {stride: {each: {min: 1}}}}");
  Validity made;
  for (const auto& [key, value] : node.pairs) {
    if (key.text == "when")
      made.when = conditions(source, value);
    else if (key.text == "requires")
      made.required = names(source, value, "`requires`");
    else
      unknown_key(source, key, "`valid`", keys);
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
  if (!node.is_map())
    fail(source, node, "a row is an ONNX operator, or a map with `to`, `function`, `inline`, `missing` or `refuse`");
  int stated = 0;
  for (const auto& [key, value] : node.pairs) {
    set_key(made, source, key, value);
    stated += key.text == "to" || key.text == "missing" || key.text == "refuse" || key.text == "function" || key.text == "inline";
  }
  if (made.body && made.body->functions && stated == 1) {
    made.to = made.body->is_inlined ? made.body->functions->operators() : std::vector<std::string>{made.body->functions->name()};
    if (made.to.size() > 1) std::erase(made.to, "Constant");  // an initializer, no node
  }
  const bool both = made.body && !made.to.empty() && stated == 2;  // reported below
  if (stated != 1 && !both) fail(source, node, "a row says one of `to`, `function`, `inline`, `missing` and `refuse`");
  check_combination(source, node, made);
  return made;
}

}  // namespace compatcheck::mapping::reading
