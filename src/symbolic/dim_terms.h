// The atoms and terms of a Dim, for the files that compute with it.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

// Before the names of ints that aren't sizes.
inline constexpr char any_mark = '~';

// A name, or an expression that has no polynomial form. `key` is its spelling, with marks.
struct Atom {
  enum class Kind : std::uint8_t { name, quotient, at_most_one } kind = Kind::name;
  std::string key;
  Dim first = 0, second = 1;  // of a quotient: dividend and divisor; of at_most_one: the size
  SizeRange bounds{};         // where every named size may be 0
  SizeRange filled{};         // where it is at least 1

  bool is_any_integer() const { return key.front() == any_mark; }
  std::string name() const { return is_any_integer() ? key.substr(1) : key; }
};

class AtomRef {
 public:
  explicit AtomRef(Atom atom) : atom_(std::make_shared<const Atom>(std::move(atom))) {}
  const Atom* operator->() const { return atom_.get(); }
  const Atom& operator*() const { return *atom_; }
  friend bool operator==(const AtomRef& a, const AtomRef& b) { return a.atom_ == b.atom_ || a->key == b->key; }
  friend std::strong_ordering operator<=>(const AtomRef& a, const AtomRef& b) {
    return a.atom_ == b.atom_ ? std::strong_ordering::equal : a->key <=> b->key;
  }

 private:
  std::shared_ptr<const Atom> atom_;
};

// A polynomial: product of atoms (sorted) → coefficient, no zero coefficients.
using Monomial = std::vector<AtomRef>;
using Terms = std::map<Monomial, std::int64_t>;

struct Dim::Expression {
  Terms terms;
};

struct DimTerms {
  static const Terms* expression_of(const Dim& dim) { return dim.expression_ ? &dim.expression_->terms : nullptr; }
  static Dim make(Terms terms);  // unknown if they are more than a person would read
  static Dim make(AtomRef atom) { return make(Terms{{{std::move(atom)}, 1}}); }
  static Dim make(Atom atom) { return make(AtomRef(std::move(atom))); }
};

// The terms of a size that isn't unknown, which must outlive them.
class TermsOf {
 public:
  explicit TermsOf(const Dim& dim);
  const Terms& operator*() const { return terms_ ? *terms_ : number_; }

 private:
  const Terms* terms_ = nullptr;
  Terms number_;
};

}  // namespace compatcheck::symbolic
