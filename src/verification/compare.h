// One value against another, element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::verification {

// |found − expected| ≤ absolute + relative · |expected|
struct Tolerance {
  double relative = 0, absolute = 0;
};

// The differences that rounding makes in a dtype; 0 for integers and bool. Complex numbers count as their parts.
Tolerance tolerance_of(ir::DType dtype);
// With bounds that a user states; exact dtypes stay exact.
Tolerance tolerance_of(ir::DType dtype, std::optional<double> relative, std::optional<double> absolute);

struct Comparison {
  ir::DType expected_dtype{}, found_dtype{};
  std::vector<std::int64_t> expected_sizes, found_sizes;
  std::uint64_t elements = 0;
  std::uint64_t mismatched = 0;        // elements out of tolerance; NaN agrees with NaN, an infinity with itself
  std::uint64_t nonfinite = 0;         // expected elements that are NaN or infinite
  std::uint64_t nonfinite_differ = 0;  // NaN or infinite on one side only, or infinities of other signs
  std::uint64_t first_mismatch = 0;    // index in row-major order, if any element mismatches
  double expected_there = 0, found_there = 0;
  // Over elements that are finite on both sides:
  double max_abs = 0, mean_abs = 0, p99_abs = 0, rms = 0;
  double largest = 0;            // |expected|
  double max_rel = 0;            // relative to |expected|, where that isn't 0
  double cosine = 1;             // cosine of the angle between the two as vectors; 1 where both are 0
  std::optional<double> snr_db;  // 10 log10(Σ expected² / Σ difference²); none where nothing differs

  bool same_form() const { return expected_dtype == found_dtype && expected_sizes == found_sizes; }
  bool passed() const { return same_form() && mismatched == 0; }
};

std::string spell(const std::vector<std::int64_t>& sizes);  // "[2, 3]"

// Both tensors are contiguous and have their bytes. If dtypes or sizes differ, only these are compared.
Comparison compare(const ir::TensorView& expected, const ir::TensorView& found, const Tolerance& tolerance);

// Returns an element of a contiguous tensor in row-major order; a complex tensor counts as its parts in turn.
double element_of(const ir::TensorView& tensor, std::uint64_t index);

// "3 of 40 values, 0.5 for 0.25 at [1, 2]", "f64 for f32", "shape [2] for []"; empty if it passed.
std::string describe(const Comparison& comparison);

}  // namespace compatcheck::verification
