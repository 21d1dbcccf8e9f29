#include "symbolic/dim.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "symbolic/emptiness.h"

namespace compatcheck::symbolic {

// A polynomial: product of atoms (sorted) → coefficient, no zero coefficients. An atom is a symbol, or a quotient or
// remainder that has no polynomial form, spelled canonically.
struct Dim::Expression {
  using Monomial = std::vector<std::string>;
  std::map<Monomial, std::int64_t> terms;
};

namespace {

// Before the names of ints that aren't sizes.
constexpr char any_mark = '~';

using Terms = std::map<std::vector<std::string>, std::int64_t>;

constexpr std::size_t most_terms = 64;
constexpr std::size_t most_text = 1024;   // length of all atoms
constexpr std::size_t most_factors = 32;  // factors of one term

std::size_t text_of(const Terms& terms) {
  std::size_t text = 0;
  for (const auto& [atoms, coefficient] : terms)
    for (const auto& atom : atoms) text += 1 + atom.size();
  return text;
}

// False on overflow.
bool add_term(Terms& terms, const std::vector<std::string>& monomial, std::int64_t coefficient) {
  auto& sum = terms[monomial];
  if (__builtin_add_overflow(sum, coefficient, &sum)) return false;
  if (sum == 0) terms.erase(monomial);
  return true;
}

std::optional<Terms> multiplied_terms(const Terms& a, const Terms& b) {
  Terms result;
  for (const auto& [am, ac] : a) {
    for (const auto& [bm, bc] : b) {
      std::vector<std::string> monomial = am;
      monomial.insert(monomial.end(), bm.begin(), bm.end());
      std::sort(monomial.begin(), monomial.end());
      std::int64_t coefficient = 0;
      if (__builtin_mul_overflow(ac, bc, &coefficient) || !add_term(result, monomial, coefficient)) return std::nullopt;
      if (result.size() > 2 * most_terms) return std::nullopt;  // some may cancel yet
    }
  }
  return result;
}

bool is_quotient(const std::string& atom) { return atom.find("//") != std::string::npos; }

// A quotient in a product stands in parentheses.
std::string join_atoms(const std::vector<std::string>& atoms, bool alone) {
  if (alone && atoms.size() == 1) return atoms.front();
  std::string text;
  for (const auto& atom : atoms) text += (text.empty() ? "" : "*") + (is_quotient(atom) ? "(" + atom + ")" : atom);
  return text;
}

std::string spell_terms(const Terms& terms) {
  std::string text;
  // Numbers last, as people write them.
  auto append = [&](const std::vector<std::string>& atoms, std::int64_t coefficient) {
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

}  // namespace

// The terms of a size, which must outlive them.
class TermsOf {
 public:
  explicit TermsOf(const Dim& dim);
  const Terms& operator*() const { return terms_ ? *terms_ : number_; }

 private:
  const Terms* terms_ = nullptr;
  Terms number_;
};

struct DimTerms {
  static const Terms* expression_of(const Dim& dim) { return dim.expression_ ? &dim.expression_->terms : nullptr; }
  static Dim make(Terms terms) {
    if (terms.empty()) return Dim(0);
    if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
    Dim dim = Dim::unknown();
    const auto is_short = [](const auto& term) { return term.first.size() <= most_factors; };
    if (terms.size() <= most_terms && std::ranges::all_of(terms, is_short) && text_of(terms) <= most_text)
      dim.expression_ = std::make_shared<Dim::Expression>(Dim::Expression{std::move(terms)});
    return dim;
  }
};

TermsOf::TermsOf(const Dim& dim) : terms_(DimTerms::expression_of(dim)) {
  if (!terms_ && dim.number() != 0) number_.emplace(std::vector<std::string>(), *dim.number());
}

Dim::Dim(std::int64_t number) : number_(number) {}

Dim Dim::symbol(std::string name) { return DimTerms::make({{{std::move(name)}, 1}}); }

Dim Dim::any_integer(std::string name) { return symbol(any_mark + std::move(name)); }

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
  constexpr std::size_t a_term = 128;  // size including the first atom
  return sizeof(Dim) + (expression_ ? expression_->terms.size() * a_term + text_of(expression_->terms) : 0);
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
    std::vector<std::string> left = atoms;
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
  const std::string& atom = numerator.begin()->first.front();
  const auto slashes = atom.rfind("//");
  if (slashes == std::string::npos || !by.is_number() || *by.number() <= 0) return std::nullopt;
  const std::string divisor = atom.substr(slashes + 2);
  if (divisor.empty() || divisor.size() > 9 || divisor.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const Dim product = Dim(std::stoll(divisor)) * by;
  if (!product.is_number()) return std::nullopt;
  return Dim::symbol(atom.substr(0, slashes + 2) + product.to_string());
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
  if (rest.is_number() && b.is_number()) return whole + floor_div(rest, b);
  if (const auto nested = nested_quotient(division.rest, b)) return whole + *nested;
  return whole + Dim::symbol(spell_operand(division.rest) + "//" + spell_operand(denominator));
}

Dim modulo(const Dim& a, const Dim& b) { return a - floor_div(a, b) * b; }

namespace {

constexpr std::string_view least_mark = "min(";

// Replaces sizes that are 1 unless a tensor is empty by 1: named sizes are at least 1.
Terms with_ones(const Terms& terms) {
  const auto is_least = [](const std::string& atom) { return atom.starts_with(least_mark); };
  if (std::ranges::none_of(terms, [&](const auto& term) { return std::ranges::any_of(term.first, is_least); })) return terms;
  Terms made;
  for (const auto& [atoms, coefficient] : terms) {
    std::vector<std::string> left = atoms;
    std::erase_if(left, is_least);
    if (!add_term(made, left, coefficient)) return terms;
  }
  return made;
}

}  // namespace

Dim at_most_one(const Dim& size) {
  if (size.is_unknown()) return size;
  if (size.is_number()) return Dim(std::clamp<std::int64_t>(*size.number(), 0, 1));
  const std::string text = size.to_string();
  return text.starts_with(least_mark) && text.find('(', least_mark.size()) == std::string::npos
             ? size
             : Dim::symbol(std::string(least_mark) + text + ", 1)");
}

bool provably_equal(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return false;
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  const TermsOf x(a), y(b);
  return *x == *y || with_ones(*x) == with_ones(*y);
}

bool provably_different(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return difference.is_number() && *difference.number() != 0;
}

namespace {

// If only a number is subtracted, a sum is least when every name is.
bool terms_at_least(const Terms& terms, std::int64_t bound, bool may_be_empty) {
  std::int64_t least = 0;
  for (const auto& [atoms, coefficient] : terms) {
    const bool named =
        std::none_of(atoms.begin(), atoms.end(), [](const auto& atom) { return is_quotient(atom) || atom.front() == any_mark; });
    if (!atoms.empty() && (coefficient < 0 || !named)) return false;
    if (may_be_empty && !atoms.empty()) continue;
    if (__builtin_add_overflow(least, coefficient, &least)) return false;
  }
  return least >= bound;
}

}  // namespace

bool provably_at_least(const Dim& a, std::int64_t bound) { return !a.is_unknown() && terms_at_least(*TermsOf(a), bound, false); }

bool provably_at_least_if_empty(const Dim& a, std::int64_t bound) {
  return !a.is_unknown() && terms_at_least(*TermsOf(a), bound, true);
}

bool never_one(const Dim& size) { return size.is_number() ? !provably_equal(size, 1) : provably_at_least_if_empty(size, 2); }

Dim larger(const Dim& a, const Dim& b) {
  return provably_at_least_if_empty(a - b, 0) ? a : provably_at_least_if_empty(b - a, 0) ? b : Dim::unknown();
}

Dim smaller(const Dim& a, const Dim& b) {
  return provably_at_least_if_empty(a - b, 0) ? b : provably_at_least_if_empty(b - a, 0) ? a : Dim::unknown();
}

}  // namespace compatcheck::symbolic
