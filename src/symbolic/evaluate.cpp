#include "symbolic/evaluate.h"

#include <algorithm>
#include <limits>

#include "symbolic/dim_terms.h"
#include "symbolic/emptiness.h"

namespace compatcheck::symbolic {
namespace {

std::optional<std::int64_t> atom_value(const Atom& atom, const Sizes& sizes) {
  if (atom.kind == Atom::Kind::name) {
    const auto size = sizes.find(atom.name());
    return size == sizes.end() ? std::nullopt : std::optional(size->second);
  }
  const auto first = evaluate(atom.first, sizes);
  if (atom.kind == Atom::Kind::at_most_one) return first ? std::optional(std::min<std::int64_t>(*first, 1)) : std::nullopt;
  const auto second = evaluate(atom.second, sizes);
  const bool overflows = second == -1 && first == std::numeric_limits<std::int64_t>::min();
  return first && second && *second != 0 && !overflows ? std::optional(floor_quotient(*first, *second)) : std::nullopt;
}

// Numbers come last, as in the spelling.
template <class Visit>
void for_each_atom(const Dim& dim, const Visit& visit) {
  if (dim.is_unknown()) return;
  const TermsOf terms(dim);
  for (const auto& [atoms, coefficient] : *terms) std::ranges::for_each(atoms, visit);
}

void add_names(const Dim& dim, std::vector<std::string>& names) {
  for_each_atom(dim, [&](const AtomRef& atom) {
    if (atom->kind == Atom::Kind::name) {
      std::string name = atom->name();
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    } else {
      add_names(atom->first, names);
      add_names(atom->second, names);
    }
  });
}

}  // namespace

std::optional<std::int64_t> evaluate(const Dim& dim, const Sizes& sizes) {
  if (dim.is_unknown()) return std::nullopt;
  const TermsOf terms(dim);
  std::int64_t total = 0;
  for (const auto& [atoms, coefficient] : *terms) {
    std::int64_t term = coefficient;
    for (const AtomRef& atom : atoms) {
      const auto value = atom_value(*atom, sizes);
      if (!value || __builtin_mul_overflow(term, *value, &term)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, term, &total)) return std::nullopt;
  }
  return total;
}

std::vector<std::string> names_in(const Dim& dim) {
  std::vector<std::string> names;
  add_names(dim, names);
  return names;
}

bool has_quotient(const Dim& dim) {
  bool found = false;
  for_each_atom(dim, [&](const AtomRef& atom) { found = found || atom->kind == Atom::Kind::quotient; });
  return found;
}

Dim with_ranges(const Dim& dim, const NamedRanges& stated) {
  if (dim.is_unknown() || dim.is_number()) return dim;
  const auto bounded = [&](const AtomRef& atom) {
    if (atom->kind == Atom::Kind::quotient) return floor_div(with_ranges(atom->first, stated), with_ranges(atom->second, stated));
    if (atom->kind == Atom::Kind::at_most_one) return at_most_one(with_ranges(atom->first, stated));
    const auto bounds = atom->is_any_integer() ? stated.end() : stated.find(atom->key);
    return bounds == stated.end() ? DimTerms::make(atom) : Dim::symbol(atom->key, bounds->second);
  };
  const TermsOf terms(dim);
  Dim total = 0;
  for (const auto& [atoms, coefficient] : *terms) {
    Dim term = coefficient;
    for (const AtomRef& atom : atoms) term = term * bounded(atom);
    total = total + term;
  }
  return total;
}

std::optional<std::int64_t> solve(const Dim& dim, std::int64_t size) {
  const auto names = names_in(dim);
  if (names.size() != 1) return std::nullopt;
  const auto at = [&](std::int64_t tried) { return evaluate(dim, {{names[0], tried}}); };
  if (const auto none = at(0), one = at(1); none && one)
    if (const auto even = floor_div(Dim(size) - Dim(*none), Dim(*one) - Dim(*none)).number();
        even && *even >= 0 && at(*even) == size)
      return even;
  for (std::int64_t tried = 0; tried <= most_solved; ++tried)
    if (at(tried) == size) return tried;
  return std::nullopt;
}

}  // namespace compatcheck::symbolic
