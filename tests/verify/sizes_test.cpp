#include "verify/sizes.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tensors.h"
#include "verify/resize.h"

namespace compatcheck::verification {
namespace {

using symbolic::Dim;

TEST(Sizes, ExpressionsAreEvaluatedAsPythonDoes) {
  const Dim h = Dim::symbol("height"), w = Dim::symbol("width");
  const Sizes sizes{{"height", 7}, {"width", 4}};
  EXPECT_EQ(evaluate(Dim(5), sizes), 5);
  EXPECT_EQ(evaluate(h * w + Dim(1), sizes), 29);
  EXPECT_EQ(evaluate(floor_div(h - Dim(1), Dim(2)) + w, sizes), 7);
  EXPECT_EQ(evaluate(floor_div(w - h, Dim(2)), sizes), -2);
  EXPECT_EQ(evaluate(modulo(w - h, Dim(5)), sizes), 2);
  EXPECT_EQ(evaluate(Dim(3) * floor_div(floor_div(h, Dim(2)) + Dim(1), Dim(2)) - h * Dim(2), sizes), -8);
  EXPECT_THROW(evaluate(Dim::symbol("batch"), sizes), std::invalid_argument);
}

TEST(Sizes, ExamplesAreRepeatedAndCutOff) {
  const auto tensor = testing::tensor<float>(ir::DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto larger = resized(tensor, {3, 4});
  EXPECT_EQ(larger.sizes, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(testing::elements<float>(larger), (std::vector<float>{1, 2, 3, 1, 4, 5, 6, 4, 1, 2, 3, 1}));
  EXPECT_EQ(testing::elements<float>(resized(tensor, {1, 2})), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace compatcheck::verification
