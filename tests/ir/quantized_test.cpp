#include "ir/quantized.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/quantizer_text.h"

namespace compatcheck::ir {
namespace {

TEST(Quantized, DTypesHaveIntegers) {
  EXPECT_EQ(stored_dtype(DType::qi8), DType::i8);
  EXPECT_EQ(stored_dtype(DType::qu8), DType::u8);
  EXPECT_EQ(stored_dtype(DType::qi32), DType::i32);
  EXPECT_EQ(integer_range(DType::qi8)->least, -128);
  EXPECT_EQ(integer_range(DType::qu8)->greatest, 255);
  EXPECT_EQ(integer_range(DType::qi32)->greatest, 2147483647);
  EXPECT_FALSE(integer_range(DType::qu4x2));
  EXPECT_FALSE(quantizes_to_8_bits(DType::qi32));
}

TEST(Quantized, NumbersFitTheDType) {
  const auto whole = [](double scale, std::int64_t zero_point, DType dtype) {
    return fits(Quantizer{.scale = scale, .zero_point = zero_point}, dtype);
  };
  EXPECT_TRUE(whole(0.5, 255, DType::qu8));
  EXPECT_TRUE(whole(0.5, -128, DType::qi8));
  EXPECT_TRUE(whole(0.5, 300, DType::qi32));
  EXPECT_FALSE(whole(0.5, 256, DType::qu8));
  EXPECT_FALSE(whole(0.5, 128, DType::qi8));
  EXPECT_FALSE(whole(0, 0, DType::qu8));
  EXPECT_FALSE(whole(-1, 0, DType::qu8));
  EXPECT_FALSE(whole(std::numeric_limits<double>::infinity(), 0, DType::qu8));
  EXPECT_FALSE(whole(std::numeric_limits<double>::quiet_NaN(), 0, DType::qu8));
}

TEST(Quantized, ChannelsFitTheSizes) {
  const Quantizer channels{.per_channel = true, .scales = {0.5, 0.25, 1}, .zero_points = {0, 1, 2}, .axis = 1};
  const std::int64_t sizes[] = {2, 3}, turned[] = {3, 2}, line[] = {3};
  EXPECT_TRUE(fits(channels, DType::qu8, sizes));
  EXPECT_FALSE(fits(channels, DType::qu8, turned));
  EXPECT_FALSE(fits(channels, DType::qu8, line));
  Quantizer other = channels;
  other.axis = -1;
  EXPECT_FALSE(fits(other, DType::qu8, sizes));
  other = channels;
  other.zero_points.pop_back();
  EXPECT_FALSE(fits(other, DType::qu8, sizes));
  other.zero_points.clear();
  other.float_zero_points = {0.5, 1.5, 2.5};
  EXPECT_TRUE(fits(other, DType::qu8, sizes));
}

TEST(Quantized, TextStatesNumbersThatFit) {
  for (const char* text : {"qu8(0.5,128)", "qi8(0.25,-3)", "qi8([0.5,0.25],[0,-3],1)"}) {
    const auto read = quantized_dtype(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(to_string(read->dtype, *read->quantizer), text);
  }
  for (const char* text : {"qu8(0,1)", "qu8(0.5,256)", "qi8(0.5,128)", "qi32(0.5,0)", "f32(0.5,0)", "qu8([0.5],[0,1],0)",
                           "qu8([0.5],[0],-1)", "qu8(0.5)", "qu8", "qu8()", ""})
    EXPECT_FALSE(quantized_dtype(text)) << text;
}

}  // namespace
}  // namespace compatcheck::ir
