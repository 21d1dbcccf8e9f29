// `when`: conditions and their predicates.
#include <algorithm>
#include <array>

#include "ir/dtype.h"
#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::mapping::reading {

using yaml::fail;
using yaml::Node;
using yaml::Source;

namespace {

constexpr std::array<std::string_view, 13> predicate_keys = {"equals", "each", "min",  "max",      "length", "none", "constant",
                                                             "dtype",  "rank", "size", "elements", "used",   "not"};
constexpr std::array<std::string_view, 5> dtype_classes = {"floating", "integral", "complex", "bool", "quantized"};

Predicate predicate(const Source& source, const Node& node);

std::shared_ptr<const Predicate> shared(const Source& source, const Node& node) {
  return std::make_shared<const Predicate>(predicate(source, node));
}

double number(const Source& source, const Node& node, std::string_view key) {
  const Literal read = node.is_scalar() ? literal(source, node) : Literal();
  if (const auto* integer = std::get_if<std::int64_t>(&read)) return static_cast<double>(*integer);
  if (const auto* floating = std::get_if<double>(&read); floating && *floating == *floating) return *floating;
  fail(source, node, "`" + std::string(key) + "` is a number");
}

std::string dtype(const Source& source, const Node& node) {
  const std::string name = text(source, node, "a dtype");
  if (ir::dtype_from_name(name) || std::find(dtype_classes.begin(), dtype_classes.end(), name) != dtype_classes.end())
    return name;
  std::vector<std::string_view> known(dtype_classes.begin(), dtype_classes.end());
  for (int i = 0; i < 30; ++i)
    if (const auto type = ir::dtype_from_number(i)) known.push_back(ir::name(*type));
  fail(source, node, "`" + name + "` is no dtype and no class of dtypes" + did_you_mean(name, known));
}

std::vector<std::string> dtypes(const Source& source, const Node& node) {
  if (!node.is_list()) return {dtype(source, node)};
  if (node.items.empty()) fail(source, node, "an empty list of dtypes");
  std::vector<std::string> made;
  for (const Node& item : node.items) made.push_back(dtype(source, item));
  return made;
}

bool says_known(const Node& node) { return node.is_scalar() && !node.quoted && node.text == "known"; }

void check_numbers(const Source& source, const Node& node, const Predicate& predicate, std::string_view what) {
  if (predicate.any_of)
    for (const Literal& value : *predicate.any_of)
      if (!std::holds_alternative<std::int64_t>(value)) fail(source, node, std::string(what) + " is a number, or `known`");
}

std::vector<Predicate::Size> sizes(const Source& source, const Node& node) {
  if (!node.is_map() || node.pairs.empty()) fail(source, node, "`size` maps dimensions to what their sizes fit: {size: {1: 3}}");
  std::vector<Predicate::Size> made;
  for (const auto& [key, value] : node.pairs) {
    const Literal dim = literal(source, key);
    if (!std::holds_alternative<std::int64_t>(dim)) fail(source, key, "a dimension is a number, negative from the end");
    Predicate::Size size;
    size.dim = std::get<std::int64_t>(dim);
    size.known = says_known(value);
    if (!size.known) {
      size.value = shared(source, value);
      check_numbers(source, value, *size.value, "a size");
    }
    made.push_back(std::move(size));
  }
  return made;
}

void set_demand(Predicate& made, const Source& source, const Node& key, const Node& value) {
  const std::string_view word = key.text;
  if (word == "equals") {
    if (!value.is_list()) fail(source, value, "`equals` takes a list; a single value stands by itself");
    made.equals = literals(source, value);
  } else if (word == "rank") {
    if (says_known(value)) {
      made.rank_known = true;
    } else {
      made.rank = shared(source, value);
      check_numbers(source, value, *made.rank, "a rank");
    }
  } else if (word == "each")
    made.each = shared(source, value);
  else if (word == "length")
    made.length = shared(source, value);
  else if (word == "elements")
    made.elements = shared(source, value);
  else if (word == "not")
    made.negated = shared(source, value);
  else if (word == "min")
    made.min = number(source, value, word);
  else if (word == "max")
    made.max = number(source, value, word);
  else if (word == "none")
    made.none = boolean(source, value, word);
  else if (word == "constant")
    made.constant = boolean(source, value, word);
  else if (word == "used")
    made.used = boolean(source, value, word);
  else if (word == "dtype")
    made.dtype = dtypes(source, value);
  else if (word == "size")
    made.sizes = sizes(source, value);
  else
    unknown_key(source, key, "a condition", predicate_keys);
}

Predicate predicate(const Source& source, const Node& node) {
  Predicate made;
  if (node.is_list()) {
    if (node.items.empty()) fail(source, node, "an empty list of values; for a list without members write {equals: []}");
    made.any_of = literals(source, node);
  } else if (!node.is_map()) {
    made.any_of = {literal(source, node)};
  } else {
    if (node.pairs.empty()) fail(source, node, "an empty condition");
    for (const auto& [key, value] : node.pairs) set_demand(made, source, key, value);
    if (made.min && made.max && *made.min > *made.max) fail(source, node, "no number is at least `min` and at most `max`");
  }
  return made;
}

bool is_argument(std::string_view name) {
  if (!name.starts_with("outputs.")) return is_identifier(name);
  const std::string_view index = name.substr(8);
  return !index.empty() && index.size() < 4 && index.find_first_not_of("0123456789") == std::string_view::npos;
}

Conditions all_of(const Source& source, const Node& node) {
  if (!node.is_map()) fail(source, node, "`when` maps arguments to what they must fit");
  if (node.pairs.empty()) fail(source, node, "`when` without a condition");
  Conditions made;
  for (const auto& [key, value] : node.pairs) {
    if (!is_argument(key.text)) fail(source, key, "`" + key.text + "` isn't the name of an argument");
    made.push_back({key.text, predicate(source, value), source.place(key)});
  }
  return made;
}

}  // namespace

std::vector<Conditions> conditions(const Source& source, const Node& node) {
  if (!node.is_list()) return {all_of(source, node)};
  if (node.items.empty()) fail(source, node, "`when` without a condition");
  std::vector<Conditions> made;
  for (const Node& item : node.items) made.push_back(all_of(source, item));
  return made;
}

}  // namespace compatcheck::mapping::reading
