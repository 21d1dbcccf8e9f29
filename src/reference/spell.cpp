#include "reference/spell.h"

namespace compatcheck::reference {
namespace {

using mapping::joined;
using mapping::Literal;
using mapping::Predicate;
using mapping::spell;

std::string spell_literals(const std::vector<Literal>& literals, const char* separator) {
  std::string text;
  for (const auto& literal : literals) text += (text.empty() ? "" : separator) + spell(literal);
  return text;
}

void add(std::string& text, const std::string& part) { text += (text.empty() ? "" : " and ") + part; }

std::string spell(const Predicate& predicate, const std::string& what);

std::string spell_shape(const Predicate& predicate, const std::string& what) {
  std::string text;
  if (predicate.rank_known) add(text, "the rank of " + what + " is known");
  if (predicate.rank) add(text, spell(*predicate.rank, "the rank of " + what));
  for (const auto& size : predicate.sizes) {
    const std::string name = "dimension " + std::to_string(size.dim) + " of " + what;
    if (size.known) add(text, name + " is fixed");
    if (size.value) add(text, spell(*size.value, name));
  }
  if (predicate.elements) add(text, spell(*predicate.elements, "the number of elements of " + what));
  return text;
}

std::string spell(const Predicate& predicate, const std::string& what) {
  std::string text;
  if (predicate.any_of) add(text, what + " is " + spell_literals(*predicate.any_of, " or "));
  if (predicate.equals) add(text, what + " is [" + spell_literals(*predicate.equals, ", ") + "]");
  if (predicate.none) add(text, what + (*predicate.none ? " is None" : " is given"));
  if (predicate.constant) add(text, what + (*predicate.constant ? " is known when converting" : " is computed"));
  if (predicate.used) add(text, what + (*predicate.used ? " is used" : " is not used"));
  if (predicate.min) add(text, what + " is at least " + spell(*predicate.min));
  if (predicate.max) add(text, what + " is at most " + spell(*predicate.max));
  if (predicate.each) add(text, spell(*predicate.each, "each of " + what));
  if (predicate.length) add(text, spell(*predicate.length, "the length of " + what));
  if (!predicate.dtype.empty()) add(text, "the dtype of " + what + " is " + joined(predicate.dtype, " or "));
  if (const auto shape = spell_shape(predicate, what); !shape.empty()) add(text, shape);
  if (predicate.negated) add(text, "not (" + spell(*predicate.negated, what) + ")");
  return text;
}

std::string spell_argument(const std::string& argument) {
  if (argument == "tensors") return "every tensor";
  if (argument.starts_with("outputs.")) return "output " + argument.substr(std::string("outputs.").size());
  return argument;
}

}  // namespace

std::string spell_when(const std::vector<mapping::Conditions>& when) {
  std::string text;
  for (const auto& conditions : when) {
    std::string all;
    for (const auto& condition : conditions) add(all, spell(condition.predicate, spell_argument(condition.argument)));
    text += (text.empty() ? "" : ", or ") + all;
  }
  return text;
}

std::string spell_result(const mapping::Row& row) {
  switch (row.kind) {
    case mapping::Row::Kind::mapped: return row.to.empty() ? "nothing" : joined(row.to);
    case mapping::Row::Kind::missing: return "missing: " + row.reason;
    case mapping::Row::Kind::refuse: return "refused: " + row.reason;
  }
  return {};
}

}  // namespace compatcheck::reference
