// A file of operators: histories, aliases, schemas.
#include <algorithm>
#include <array>
#include <charconv>

#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"
#include "onnx/domains.h"
#include "onnx/schema.h"

namespace compatcheck::mapping {

using yaml::fail;
using yaml::Node;
using yaml::Source;

namespace reading {

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string text(const Source& source, const Node& node, std::string_view what) {
  if (!node.is_scalar() || node.text.empty()) fail(source, node, std::string(what) + " must be text");
  return node.text;
}

bool boolean(const Source& source, const Node& node, std::string_view key) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
  fail(source, node, "`" + std::string(key) + "` is true or false");
}

schema::TraitSet traits(const Source& source, const Node& node) {
  if (!node.is_list() || node.items.empty()) fail(source, node, "`traits` is a list of names");
  schema::TraitSet made = 0;
  for (const Node& item : node.items) {
    const std::string name = text(source, item, "a trait");
    const auto found = std::ranges::find(schema::trait_names, name);
    if (found == std::end(schema::trait_names))
      fail(source, item, "unknown trait `" + name + "`" + did_you_mean(name, schema::trait_names));
    made |= schema::only(static_cast<schema::Trait>(found - schema::trait_names));
  }
  return made;
}

void unknown_key(const Source& source, const Node& key, std::string_view what, std::span<const std::string_view> known) {
  fail(source, key, "unknown key `" + key.text + "` in " + std::string(what) + did_you_mean(key.text, known));
}

}  // namespace reading

namespace {

// namespace::name, or namespace::name.overload
bool is_operator_name(std::string_view name) {
  const auto colons = name.find("::");
  if (colons == std::string_view::npos || !reading::is_identifier(name.substr(0, colons))) return false;
  std::string_view rest = name.substr(colons + 2);
  if (const auto dot = rest.find('.'); dot != std::string_view::npos) {
    // An overload may begin with a digit.
    if (!reading::is_identifier("_" + std::string(rest.substr(dot + 1))) || dot + 1 == rest.size()) return false;
    rest = rest.substr(0, dot);
  }
  return reading::is_identifier(rest);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int opset(const Source& source, const Node& key) {
  int number = 0;
  const auto [end, error] = std::from_chars(key.text.data(), key.text.data() + key.text.size(), number);
  if (error != std::errc() || number < lowest_opset || number > highest_opset)
    fail(source, key,
         "opset " + key.text + ": opsets are " + std::to_string(lowest_opset) + " to " + std::to_string(highest_opset));
  return number;
}

// The rows of the entry before hold on, where an ONNX operator changed: `22: same`.
bool restates(const Node& value) { return value.is_scalar() && !value.quoted && value.text == "same"; }

Entry entry(const Source& source, const Node& key, const Node& value, const std::vector<Entry>& before) {
  Entry made;
  made.opset = opset(source, key);
  made.place = source.place(key);
  if (restates(value)) {
    if (before.empty()) fail(source, value, "`same` says again what the entry before says, and there is none");
    made.rows = before.back().rows;
    return made;
  }
  if (value.is_null()) fail(source, key, "opset " + key.text + " says nothing");
  if (!value.is_list()) {
    made.rows.push_back(reading::row(source, value));
  } else {
    if (value.items.empty()) fail(source, value, "an empty list of rows");
    for (const Node& item : value.items) made.rows.push_back(reading::row(source, item));
  }
  if (made.rows.size() > 1)
    for (const Row& row : made.rows)
      if (row.kind == Row::Kind::missing)
        fail(source, row.place, "`missing` holds for every call and stands alone; beside other rows it is `refuse`");
  return made;
}

std::string operator_name(const Source& source, const Node& node, std::string_view what) {
  const std::string name = reading::text(source, node, what);
  if (!is_operator_name(name))
    fail(source, node, "`" + name + "` isn't an operator's name; write namespace::name or namespace::name.overload");
  return name;
}

// `missing` and `hint` beside the name itself: no mapping at any opset.
Entry missing_everywhere(const Source& source, const Node& value) {
  Node row = value;
  std::erase_if(row.pairs, [](const auto& pair) { return pair.first.text != "missing" && pair.first.text != "hint"; });
  Entry made;
  made.opset = lowest_opset;
  made.rows.push_back(reading::row(source, row));
  for (const auto& [key, ignored] : row.pairs)
    if (key.text == "missing") made.place = made.rows.front().place = source.place(key);
  return made;
}

// {dtype: same, shape: [rois.0, x.1, size, size]}, as text that is read again where the arguments are known.
std::string spelled_facts(const Source& source, const Node& node) {
  static constexpr std::array<std::string_view, 3> keys = {"dtype", "shape", "rank"};
  const auto word = [&](const Node& one, std::string_view what) {
    if (one.is_null()) return std::string("~");
    const std::string text = reading::text(source, one, what);
    if (text.find_first_of("{}[],:") != std::string::npos) fail(source, one, std::string(what) + ": `" + text + "` isn't one");
    return text;
  };
  if (node.pairs.empty()) fail(source, node, "`facts` has a `dtype` and a `shape` or `rank`");
  std::string made;
  for (const auto& [key, value] : node.pairs) {
    if (std::ranges::find(keys, key.text) == keys.end()) reading::unknown_key(source, key, "`facts`", keys);
    std::string content;
    if (key.text == "shape" && value.is_list()) {
      std::vector<std::string> sizes;
      for (const Node& size : value.items) sizes.push_back(word(size, "a size"));
      content = "[" + joined(sizes) + "]";
    } else {
      content = word(value, "`" + key.text + "`");
    }
    made += (made.empty() ? "" : ", ") + key.text + ": " + content;
  }
  return "{" + made + "}";
}

// A word, or a map; a list has one for each result, ~ where nothing is said.
std::string facts(const Source& source, const Node& node) {
  const auto one = [&](const Node& each) {
    return each.is_map() ? spelled_facts(source, each) : reading::text(source, each, "`facts`");
  };
  if (!node.is_list()) return one(node);
  if (node.items.empty()) fail(source, node, "`facts`: an empty list of words");
  std::vector<std::string> words;
  for (const Node& item : node.items) words.push_back(item.is_null() ? "~" : one(item));
  return joined(words);
}

// `parts: [self]`, `product: [self, other]`
ComplexForm complex_form(const Source& source, const Node& key, const Node& node) {
  ComplexForm made{.kind = key.text == "parts" ? ComplexForm::Kind::parts : ComplexForm::Kind::product, .arguments = {}};
  if (!node.is_list() || node.items.empty()) fail(source, node, "`" + key.text + "` is a list of arguments");
  for (const Node& item : node.items) made.arguments.push_back(reading::text(source, item, "`" + key.text + "`"));
  return made;
}

OperatorRows operator_rows(const Source& source, const Node& key, const Node& value) {
  static constexpr std::array<std::string_view, 9> words = {"alias",   "facts",  "hint",   "missing", "parts",
                                                            "product", "schema", "traits", "valid"};
  static constexpr std::array<std::string_view, 12> row_words = {"to",     "function", "inline",      "refuse",
                                                                 "when",   "requires", "inputs",      "attributes",
                                                                 "lifted", "random",   "approximate", "complex"};
  OperatorRows made;
  made.name = operator_name(source, key, "an operator's name");
  made.place = source.place(key);
  if (!value.is_map()) fail(source, value, "after an operator come opsets: " + key.text + ": {9: Relu}");
  const Node* alias = nullptr;
  const Node* missing = nullptr;
  const Node* hint = nullptr;
  for (const auto& [word, content] : value.pairs) {
    if (is_number(word.text)) {
      if (!made.history.empty() && made.history.back().opset >= opset(source, word))
        fail(source, word,
             "opset " + word.text + " stands after opset " + std::to_string(made.history.back().opset) + "; entries go upward");
      made.history.push_back(entry(source, word, content, made.history));
    } else if (word.text == "alias") {
      made.alias = operator_name(source, content, "`alias`");
      alias = &word;
    } else if (word.text == "facts") {
      made.facts = facts(source, content);
    } else if (word.text == "schema") {
      made.schema = reading::text(source, content, "`schema`");
      // A Python function's own name is enough: "MyAdd(Tensor a, Tensor b) -> Tensor".
      if (made.name.starts_with("prim::PythonOp.") &&
          made.schema.substr(0, made.schema.find('(')).find("::") == std::string::npos)
        made.schema.insert(0, "prim::PythonOp.");
      made.schema_place = source.place(content);
    } else if (word.text == "valid") {
      made.valid = reading::validity(source, content);
    } else if (word.text == "traits") {
      if (!split_overload(made.name).second.empty())
        fail(source, word, "`traits` hold for all overloads: they belong to the base name");
      made.traits = reading::traits(source, content);
    } else if (word.text == "parts" || word.text == "product") {
      if (!made.complex.empty()) fail(source, word, "`parts` or `product`, not both");
      made.complex = complex_form(source, word, content);
    } else if (word.text == "missing") {
      missing = &word;
    } else if (word.text == "hint") {
      hint = &word;
    } else if (std::find(row_words.begin(), row_words.end(), word.text) != row_words.end()) {
      fail(source, word, "`" + word.text + "` belongs under the opset from which it holds: 9: {" + word.text + ": …}");
    } else {
      reading::unknown_key(source, word, "an operator", words);
    }
  }
  if (alias && (!made.history.empty() || missing || !made.facts.empty() || !made.valid.empty() || !made.complex.empty()))
    fail(source, *alias, "an alias has the history and the facts of the other operator; nothing stands beside it");
  if (hint && !missing) fail(source, *hint, "`hint` goes with `missing` or `refuse`");
  if (missing) {
    if (!made.history.empty()) fail(source, *missing, "`missing` at every opset, yet there are entries for opsets");
    made.history.push_back(missing_everywhere(source, value));
  }
  if (!alias && made.history.empty()) fail(source, key, "`" + made.name + "` says nothing: no opset, no alias, no `missing`");
  return made;
}

// {acme.ops: 2}
std::vector<std::pair<std::string, int>> domains(const Source& source, const Node& node) {
  if (!node.is_map() || node.pairs.empty()) fail(source, node, "`domains` maps ONNX domains to their versions: {acme.ops: 2}");
  std::vector<std::pair<std::string, int>> made;
  for (const auto& [key, value] : node.pairs) {
    if (!is_custom_domain(key.text))
      fail(source, key,
           "`" + key.text + "` isn't a custom domain" +
               (onnx::is_own_domain(key.text) ? ": the opset is ONNX's own version" : ""));
    int version = 0;
    const auto [end, error] = std::from_chars(value.text.data(), value.text.data() + value.text.size(), version);
    if (!value.is_scalar() || value.quoted || error != std::errc() || end != value.text.data() + value.text.size() || version < 1)
      fail(source, value, "a domain's version is a number from 1");
    if (const auto newest = onnx::newest_version(key.text); newest && version > *newest)
      fail(source, value, "ONNX has " + key.text + " up to version " + std::to_string(*newest));
    made.emplace_back(key.text, version);
  }
  return made;
}

}  // namespace

bool is_custom_domain(std::string_view name) {
  const auto in_domain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-'; };
  return !onnx::is_own_domain(name) && std::all_of(name.begin(), name.end(), in_domain);
}

FileContents<OperatorRows> read_operators(const Source& source) {
  FileContents<OperatorRows> contents;
  try {
    const Node root = yaml::parse(source);
    if (root.is_null()) return contents;
    if (!root.is_map()) fail(source, root, "a table is a map from operators to their rows");
    for (const auto& [key, value] : root.pairs) try {
        if (key.text == "domains")
          contents.domains = domains(source, value);
        else
          contents.items.push_back(operator_rows(source, key, value));
      } catch (const yaml::DefectError& error) {
        contents.defects.push_back(error.defect);
      }
  } catch (const yaml::DefectError& error) {
    contents.defects.push_back(error.defect);
  }
  return contents;
}

}  // namespace compatcheck::mapping
