// A size, or an int computed from sizes: a number, or an expression over named dimensions with +, −, × and floor
// division, kept in a normal form so that equal expressions compare equal. An expression that grows beyond what a person
// would read becomes unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/size_range.h"

namespace compatcheck::symbolic {

using ir::SizeRange;

class Dim {
 public:
  Dim(std::int64_t number = 0);                                // NOLINT: numbers are dims
  static Dim symbol(std::string name, SizeRange stated = {});  // a size, "batch"; names are equal whatever bounds were stated
  static Dim any_integer(std::string name);                    // an int input of the model, perhaps 0 or negative
  static Dim unknown();                                        // equal to nothing, itself included

  bool is_number() const;
  bool is_unknown() const;
  std::optional<std::int64_t> number() const;
  std::string to_string() const;  // "2*height//2 + 1", "?"
  std::size_t footprint() const;  // roughly the memory that it takes, in bytes

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);  // rounds down; b ≠ 0
  friend Dim modulo(const Dim& a, const Dim& b);     // sign of b, as Python

  // True only when proved: for two numbers by value, for expressions by normal form. Unknown: false for both.
  friend bool provably_equal(const Dim& a, const Dim& b);
  friend bool provably_different(const Dim& a, const Dim& b);
  // Where named sizes are at least 1.
  friend bool provably_at_least(const Dim& a, std::int64_t bound);

 private:
  friend struct DimTerms;
  struct Expression;
  std::optional<std::int64_t> number_;
  std::shared_ptr<const Expression> expression_;  // null with no number: unknown
};

std::int64_t floor_quotient(std::int64_t a, std::int64_t b);  // rounds as floor_div
Dim floor_div(const Dim& a, const Dim& b);
Dim modulo(const Dim& a, const Dim& b);

}  // namespace compatcheck::symbolic
