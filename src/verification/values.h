// The numbers that made inputs hold, in several ways, so that programs go several ways.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "verification/decisions.h"

namespace compatcheck::verification {

enum class Way : std::uint8_t {
  usual,           // floats of the normal distribution, small whole numbers
  near_constants,  // on, below and above the constants that the program compares with, and others
  on_constants,    // on these constants and between them, nothing else
  up_to_constant,  // the magnitude of one of them and less
  repeated,        // few values, of both signs and 0
  rising,
  falling,
  wide,  // large and small ones
  small,
  distinct,  // each value once
};

// The bounds of whole numbers.
struct IntegerRange {
  std::int64_t least = 0;             // the least that any way may use; the usual ones aren't negative
  std::optional<std::int64_t> below;  // the size of the dimension that they index
};

// Floats are multiples of 1/64, but for `usual` ones: their sums don't depend on the order of additions. `turn`: of what is
// chosen once for all numbers, and of a single number, which of all there are.
std::vector<double> made_floats(Way way, std::int64_t count, const Decisions& decisions, std::size_t turn,
                                std::mt19937_64& random);
std::vector<std::int64_t> made_integers(Way way, std::int64_t count, const IntegerRange& range, const Decisions& decisions,
                                        std::size_t turn, std::mt19937_64& random);
// In each row of so many a permutation of 0, 1, …
std::vector<std::int64_t> permutations(std::int64_t count, std::int64_t row, std::mt19937_64& random);

// One number on, below or above a constant that the program compares with.
std::int64_t integer_near(const Decisions& decisions, std::mt19937_64& random);
double floating_near(const Decisions& decisions, std::mt19937_64& random);
// One after the other: on, above and below each constant.
std::int64_t whole_number_at(std::size_t turn, const Decisions& decisions);
double floating_at(std::size_t turn, const Decisions& decisions);

}  // namespace compatcheck::verification
