#include "symbolic/dim.h"

#include <algorithm>
#include <limits>

#include "symbolic/dim_terms.h"
#include "symbolic/emptiness.h"

namespace compatcheck::symbolic {
namespace {

constexpr std::size_t most_terms = 64;
constexpr std::size_t most_text = 1024;   // length of all atoms
constexpr std::size_t most_factors = 32;  // factors of one term

std::size_t text_of(const Terms& terms) {
  std::size_t text = 0;
  for (const auto& [atoms, coefficient] : terms)
    for (const AtomRef& atom : atoms) text += 1 + atom->key.size();
  return text;
}

// False on overflow.
bool add_term(Terms& terms, const Monomial& monomial, std::int64_t coefficient) {
  auto& sum = terms[monomial];
  if (__builtin_add_overflow(sum, coefficient, &sum)) return false;
  if (sum == 0) terms.erase(monomial);
  return true;
}

std::optional<Terms> multiplied_terms(const Terms& a, const Terms& b) {
  Terms result;
  for (const auto& [am, ac] : a) {
    for (const auto& [bm, bc] : b) {
      Monomial monomial = am;
      monomial.insert(monomial.end(), bm.begin(), bm.end());
      std::ranges::sort(monomial);
      std::int64_t coefficient = 0;
      if (__builtin_mul_overflow(ac, bc, &coefficient) || !add_term(result, monomial, coefficient)) return std::nullopt;
      if (result.size() > 2 * most_terms) return std::nullopt;  // some may cancel yet
    }
  }
  return result;
}

// A quotient in a product stands in parentheses.
std::string join_atoms(const Monomial& atoms, bool alone) {
  if (alone && atoms.size() == 1) return atoms.front()->key;
  std::string text;
  for (const AtomRef& atom : atoms)
    text += (text.empty() ? "" : "*") + (atom->kind == Atom::Kind::quotient ? "(" + atom->key + ")" : atom->key);
  return text;
}

std::string spell_terms(const Terms& terms) {
  std::string text;
  // Numbers last, as people write them.
  auto append = [&](const Monomial& atoms, std::int64_t coefficient) {
    const auto bits = static_cast<std::uint64_t>(coefficient);
    const std::string magnitude = std::to_string(coefficient < 0 ? 0 - bits : bits);
    const bool leads = text.empty(), one = magnitude == "1";
    text += leads ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    if (atoms.empty())
      text += magnitude;
    else
      text += (one ? "" : magnitude + "*") + join_atoms(atoms, one && !(leads && coefficient < 0));
  };
  for (const auto& [atoms, coefficient] : terms)
    if (!atoms.empty()) append(atoms, coefficient);
  if (auto constant = terms.find({}); constant != terms.end()) append({}, constant->second);
  return text.empty() ? "0" : text;
}

std::string spell_operand(const Terms& terms) {
  const std::string text = spell_terms(terms);
  return terms.size() == 1 && text.find_first_of("*-/%") == std::string::npos ? text : "(" + text + ")";
}

// ---- Bounds. An overflow is no bound.

using Limit = std::optional<std::int64_t>;

Limit limit_sum(Limit a, Limit b) {
  std::int64_t made = 0;
  return a && b && !__builtin_add_overflow(*a, *b, &made) ? Limit(made) : std::nullopt;
}

Limit limit_product(Limit a, Limit b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t made = 0;
  return a && b && !__builtin_mul_overflow(*a, *b, &made) ? Limit(made) : std::nullopt;
}

SizeRange scaled_range(const SizeRange& a, std::int64_t factor) {
  const SizeRange scaled{limit_product(a.least, factor), limit_product(a.most, factor)};
  return factor < 0 ? SizeRange{scaled.most, scaled.least} : scaled;
}

bool never_negative(const SizeRange& bounds) { return bounds.least.value_or(-1) >= 0; }

SizeRange range_product(const SizeRange& a, const SizeRange& b) {
  if (never_negative(a) && never_negative(b)) return {limit_product(a.least, b.least), limit_product(a.most, b.most)};
  if (a.least && a.least == a.most) return scaled_range(b, *a.least);
  if (b.least && b.least == b.most) return scaled_range(a, *b.least);
  return {};
}

SizeRange range_quotient(const SizeRange& a, const SizeRange& b) {
  const auto by = [](Limit dividend, Limit divisor) {
    return dividend && divisor ? Limit(floor_quotient(*dividend, *divisor)) : std::nullopt;
  };
  if (b.least.value_or(0) < 1) return {};
  if (b.least == b.most) return {by(a.least, b.least), by(a.most, b.least)};
  if (never_negative(a)) return {b.most ? by(a.least, b.most) : 0, by(a.most, b.least)};
  return {};
}

SizeRange range_of_terms(const Terms& terms, SizeRange Atom::*which) {
  SizeRange total{0, 0};
  for (const auto& [atoms, coefficient] : terms) {
    SizeRange term{1, 1};
    for (const AtomRef& atom : atoms) term = range_product(term, (*atom).*which);
    term = scaled_range(term, coefficient);
    total = {limit_sum(total.least, term.least), limit_sum(total.most, term.most)};
  }
  return total;
}

}  // namespace

Dim DimTerms::make(Terms terms) {
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
  Dim dim = Dim::unknown();
  const auto is_short = [](const auto& term) { return term.first.size() <= most_factors; };
  if (terms.size() <= most_terms && std::ranges::all_of(terms, is_short) && text_of(terms) <= most_text)
    dim.expression_ = std::make_shared<Dim::Expression>(Dim::Expression{std::move(terms)});
  return dim;
}

TermsOf::TermsOf(const Dim& dim) : terms_(DimTerms::expression_of(dim)) {
  if (!terms_ && dim.number() != 0) number_.emplace(Monomial(), *dim.number());
}

Dim::Dim(std::int64_t number) : number_(number) {}

Dim Dim::symbol(std::string name, SizeRange stated) {
  const std::int64_t least = std::max<std::int64_t>(stated.least.value_or(0), 0);
  return DimTerms::make(
      Atom{.key = std::move(name), .bounds = {least, stated.most}, .filled = {std::max<std::int64_t>(least, 1), stated.most}});
}

Dim Dim::any_integer(std::string name) { return DimTerms::make(Atom{.key = any_mark + std::move(name)}); }

Dim Dim::unknown() {
  Dim dim;
  dim.number_.reset();
  return dim;
}

bool Dim::is_number() const { return number_.has_value(); }
bool Dim::is_unknown() const { return !number_ && !expression_; }
std::optional<std::int64_t> Dim::number() const { return number_; }

std::string Dim::to_string() const {
  std::string text = is_unknown() ? "?" : spell_terms(*TermsOf(*this));
  std::erase(text, any_mark);
  return text;
}

std::size_t Dim::footprint() const {
  constexpr std::size_t a_term = 256;  // size including the first atom
  return sizeof(Dim) + (expression_ ? expression_->terms.size() * a_term + 2 * text_of(expression_->terms) : 0);
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (std::int64_t sum = 0; a.is_number() && b.is_number())
    return __builtin_add_overflow(*a.number(), *b.number(), &sum) ? Dim::unknown() : Dim(sum);
  if (b.number() == 0) return a;
  Terms sum = *TermsOf(a);
  const TermsOf added(b);
  for (const auto& [monomial, coefficient] : *added)
    if (!add_term(sum, monomial, coefficient)) return Dim::unknown();
  return DimTerms::make(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return b.number() == 0 ? a : a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (std::int64_t product = 0; a.is_number() && b.is_number())
    return __builtin_mul_overflow(*a.number(), *b.number(), &product) ? Dim::unknown() : Dim(product);
  if (a.number() == 1 || b.number() == 1) return a.number() == 1 ? b : a;
  auto terms = multiplied_terms(*TermsOf(a), *TermsOf(b));
  return terms ? DimTerms::make(std::move(*terms)) : Dim::unknown();
}

namespace {

// a = quotient·b + rest, with as many terms in the quotient as divide exactly.
struct Division {
  Terms quotient, rest;
};

Division divide_terms(const Terms& a, const Terms& b) {
  Division result;
  const auto& [divisor_atoms, divisor] = *b.begin();
  for (const auto& [atoms, coefficient] : a) {
    Monomial left = atoms;
    const bool overflows = divisor == -1 && coefficient == std::numeric_limits<std::int64_t>::min();
    bool divides = b.size() == 1 && !overflows && coefficient % divisor == 0;
    for (const auto& atom : divisor_atoms) {
      auto found = std::find(left.begin(), left.end(), atom);
      if (found == left.end()) {
        divides = false;
        break;
      }
      left.erase(found);
    }
    if (divides)
      result.quotient[left] += coefficient / divisor;
    else
      result.rest[atoms] = coefficient;
  }
  return result;
}

}  // namespace

namespace {

// (x//3)//2 is x//6.
std::optional<Dim> nested_quotient(const Terms& numerator, const Dim& by) {
  if (numerator.size() != 1 || numerator.begin()->second != 1 || numerator.begin()->first.size() != 1) return std::nullopt;
  const Atom& atom = *numerator.begin()->first.front();
  if (atom.kind != Atom::Kind::quotient || !atom.second.is_number() || *atom.second.number() <= 0) return std::nullopt;
  if (!by.is_number() || *by.number() <= 0) return std::nullopt;
  const Dim product = atom.second * by;
  return product.is_number() ? std::optional(floor_div(atom.first, product)) : std::nullopt;
}

Dim quotient_atom(const Dim& a, const Dim& b) {
  const TermsOf dividend(a), divisor(b);
  const auto of = [&](SizeRange Atom::*which) {
    return range_quotient(range_of_terms(*dividend, which), range_of_terms(*divisor, which));
  };
  return DimTerms::make(Atom{.kind = Atom::Kind::quotient,
                             .key = spell_operand(*dividend) + "//" + spell_operand(*divisor),
                             .first = a,
                             .second = b,
                             .bounds = of(&Atom::bounds),
                             .filled = of(&Atom::filled)});
}

}  // namespace

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || b.number() == 0) return Dim::unknown();
  if (b.number() == -1) return Dim(-1) * a;  // INT64_MIN / -1 overflows
  if (a.is_number() && b.is_number()) return Dim(floor_quotient(*a.number(), *b.number()));
  if (b.number() == 1) return a;
  const TermsOf dividend(a), divisor(b);
  const Terms &numerator = *dividend, &denominator = *divisor;
  if (numerator == denominator) return 1;
  if (numerator.empty()) return 0;
  Division division = divide_terms(numerator, denominator);
  const Dim whole = DimTerms::make(std::move(division.quotient));
  if (division.rest.empty()) return whole;
  const Dim rest = DimTerms::make(division.rest);
  if (rest.is_unknown()) return rest;
  if (rest.is_number() && b.is_number()) return whole + floor_div(rest, b);
  if (const auto nested = nested_quotient(division.rest, b)) return whole + *nested;
  return whole + quotient_atom(rest, b);
}

Dim modulo(const Dim& a, const Dim& b) { return a - floor_div(a, b) * b; }

namespace {

// Replaces sizes that are 1 unless a tensor is empty by 1: named sizes are at least 1.
Terms with_ones(const Terms& terms) {
  const auto is_one = [](const AtomRef& atom) { return atom->kind == Atom::Kind::at_most_one; };
  if (std::ranges::none_of(terms, [&](const auto& term) { return std::ranges::any_of(term.first, is_one); })) return terms;
  Terms made;
  for (const auto& [atoms, coefficient] : terms) {
    Monomial left = atoms;
    std::erase_if(left, is_one);
    if (!add_term(made, left, coefficient)) return terms;
  }
  return made;
}

}  // namespace

Dim at_most_one(const Dim& size) {
  if (size.is_unknown()) return size;
  if (size.is_number()) return Dim(std::clamp<std::int64_t>(*size.number(), 0, 1));
  if (provably_at_least_if_empty(size, 1)) return 1;
  const TermsOf terms(size);
  if ((*terms).size() == 1 && with_ones(*terms) == Terms{{{}, 1}}) return size;
  return DimTerms::make(Atom{.kind = Atom::Kind::at_most_one,
                             .key = "min(" + spell_terms(*terms) + ", 1)",
                             .first = size,
                             .bounds = {0, 1},
                             .filled = {1, 1}});
}

bool provably_equal(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return false;
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  const TermsOf x(a), y(b);
  return *x == *y || with_ones(*x) == with_ones(*y);
}

bool provably_different(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_unknown()) return false;
  if (difference.is_number()) return *difference.number() != 0;
  const SizeRange apart = bounds(difference);
  return apart.least.value_or(0) > 0 || apart.most.value_or(0) < 0;
}

bool provably_at_least(const Dim& a, std::int64_t bound) {
  if (a.is_unknown()) return false;
  const auto least = range_of_terms(*TermsOf(a), &Atom::filled).least;
  return least && *least >= bound;
}

SizeRange bounds(const Dim& size) { return size.is_unknown() ? SizeRange() : range_of_terms(*TermsOf(size), &Atom::bounds); }

bool provably_at_least_if_empty(const Dim& a, std::int64_t bound) {
  const auto least = bounds(a).least;
  return least && *least >= bound;
}

bool never_one(const Dim& size) { return size.is_number() ? size.number() != 1 : provably_at_least_if_empty(size, 2); }

Dim larger(const Dim& a, const Dim& b) {
  return provably_at_least_if_empty(a - b, 0) ? a : provably_at_least_if_empty(b - a, 0) ? b : Dim::unknown();
}

Dim smaller(const Dim& a, const Dim& b) {
  return provably_at_least_if_empty(a - b, 0) ? b : provably_at_least_if_empty(b - a, 0) ? a : Dim::unknown();
}

}  // namespace compatcheck::symbolic
