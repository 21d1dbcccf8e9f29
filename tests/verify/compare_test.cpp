#include "verification/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/number_text.h"
#include "tensors.h"

namespace compatcheck::verification {
namespace {

using ir::DType;
using testing::tensor;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, WithinToleranceOfTheExpectedValue) {
  const auto expected = tensor<float>(DType::f32, {3}, {1, -100, 0});
  EXPECT_TRUE(compare(expected, tensor<float>(DType::f32, {3}, {1.0005F, -100.05F, 5e-6F}), tolerance_of(DType::f32)).passed());
  const auto beyond = compare(expected, tensor<float>(DType::f32, {3}, {1, -100.2F, 5e-5F}), tolerance_of(DType::f32));
  EXPECT_EQ(beyond.mismatched, 2U);
  EXPECT_EQ(beyond.first_mismatch, 1U);
  EXPECT_EQ(describe(beyond), "2 of 3 values, -100.2 for -100 at [1]");
}

TEST(Compare, MeasuresOverFiniteElements) {
  const auto made = compare(tensor<float>(DType::f32, {4}, {3, 4, infinity, nan}),
                            tensor<float>(DType::f32, {4}, {3, 5, infinity, nan}), {0, 10});
  EXPECT_TRUE(made.passed());
  EXPECT_EQ(made.nonfinite, 2U);
  EXPECT_DOUBLE_EQ(made.max_abs, 1);
  EXPECT_DOUBLE_EQ(made.mean_abs, 0.5);
  EXPECT_DOUBLE_EQ(made.max_rel, 0.25);
  EXPECT_DOUBLE_EQ(made.cosine, (9 + 20) / std::sqrt(25.0 * 34.0));
  ASSERT_TRUE(made.snr_db);
  EXPECT_DOUBLE_EQ(*made.snr_db, 10 * std::log10(25.0));
}

TEST(Compare, NonFiniteMustBeTheSame) {
  const auto expected = tensor<float>(DType::f32, {4}, {nan, infinity, infinity, 1});
  const auto made = compare(expected, tensor<float>(DType::f32, {4}, {nan, -infinity, infinity, nan}), {1, 1e9});
  EXPECT_EQ(made.mismatched, 2U);
  EXPECT_EQ(made.nonfinite_differ, 2U);
}

TEST(Compare, IntegersAreExact) {
  constexpr std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto expected = tensor<std::int64_t>(DType::i64, {2}, {large, 7});
  EXPECT_TRUE(compare(expected, expected, tolerance_of(DType::i64)).passed());
  EXPECT_EQ(compare(expected, tensor<std::int64_t>(DType::i64, {2}, {large - 1, 7}), tolerance_of(DType::i64)).mismatched, 1U);
}

TEST(Compare, FormComesFirst) {
  const auto expected = tensor<float>(DType::f32, {1}, {1});
  EXPECT_EQ(describe(compare(expected, tensor<double>(DType::f64, {1}, {1}), {})), "f64 for f32");
  EXPECT_EQ(describe(compare(expected, tensor<float>(DType::f32, {}, {1}), {})), "shape [] for [1]");
  EXPECT_FALSE(compare(expected, tensor<float>(DType::f32, {}, {1}), {}).passed());
}

TEST(Compare, HalvesAndComplexNumbers) {
  const auto half = tensor<std::uint16_t>(DType::f16, {1}, {ir::to_half(2)});
  EXPECT_TRUE(compare(half, tensor<std::uint16_t>(DType::f16, {1}, {ir::to_half(2.01)}), tolerance_of(DType::f16)).passed());
  EXPECT_FALSE(compare(half, tensor<std::uint16_t>(DType::f16, {1}, {ir::to_half(2.1)}), tolerance_of(DType::f16)).passed());
  const auto complex = tensor<float>(DType::c64, {2}, {1, 2, 3, 4});
  const auto other = compare(complex, tensor<float>(DType::c64, {2}, {1, 2, 3, 5}), tolerance_of(DType::c64));
  EXPECT_EQ(other.elements, 4U);
  EXPECT_EQ(describe(other), "1 of 4 values, 5 for 4 at [1]");
}

TEST(Compare, NothingAtAllAgrees) {
  const auto empty = tensor<float>(DType::f32, {0, 3}, {});
  EXPECT_TRUE(compare(empty, empty, tolerance_of(DType::f32)).passed());
}

}  // namespace
}  // namespace compatcheck::verification
