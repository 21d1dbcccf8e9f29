#include "onnx_file/elements.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>

namespace compatcheck::onnx_file {
namespace {

using Type = ::onnx::TensorProto;

::onnx::TensorProto raw(int data_type, std::int64_t elements, std::vector<std::uint8_t> bytes) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(data_type);
  tensor.add_dims(elements);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return tensor;
}

// The numbers that a type's bytes are, by least and highest: of one element each.
double value_of(int data_type, std::vector<std::uint8_t> bytes) {
  return statistics_of(raw(data_type, 1, std::move(bytes)), nullptr, {})->max.value();
}

TEST(Elements, EveryTypeIsDecoded) {
  EXPECT_EQ(value_of(Type::FLOAT16, {0x00, 0x3c}), 1);
  EXPECT_EQ(value_of(Type::FLOAT16, {0x01, 0x00}), 0x1p-24);
  EXPECT_EQ(value_of(Type::BFLOAT16, {0x80, 0xbf}), -1);
  EXPECT_EQ(value_of(Type::FLOAT8E4M3FN, {0x7e}), 448);
  EXPECT_EQ(value_of(Type::FLOAT8E4M3FNUZ, {0x7f}), 240);
  EXPECT_EQ(value_of(Type::FLOAT8E5M2, {0x7b}), 57344);
  EXPECT_EQ(value_of(Type::FLOAT8E5M2FNUZ, {0x7f}), 57344);
  EXPECT_EQ(value_of(Type::FLOAT8E8M0, {0x80}), 2);
  EXPECT_EQ(value_of(Type::FLOAT4E2M1, {0x07}), 6);
  EXPECT_EQ(value_of(Type::INT4, {0x08}), -8);
  EXPECT_EQ(value_of(Type::UINT2, {0x03}), 3);
  EXPECT_EQ(value_of(Type::INT2, {0x03}), -1);
  EXPECT_EQ(value_of(Type::INT8, {0xff}), -1);
  EXPECT_EQ(value_of(Type::UINT16, {0xff, 0xff}), 65535);
  EXPECT_EQ(value_of(Type::INT64, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), -2);
  EXPECT_EQ(value_of(Type::UINT64, {0, 0, 0, 0, 0, 0, 0, 0x80}), 0x1p63);
}

TEST(Elements, WhatIsNotFiniteIsCounted) {
  std::vector<std::uint8_t> bytes(16);
  const float values[] = {std::bit_cast<float>(0x7fc00000u), -std::bit_cast<float>(0x7f800000u), 0, 4};
  std::memcpy(bytes.data(), values, sizeof values);
  const auto found = statistics_of(raw(Type::FLOAT, 4, bytes), nullptr, {}).value();
  EXPECT_EQ(found.nan, 1);
  EXPECT_EQ(found.inf, 1);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(found.mean, 2);
  EXPECT_EQ(found.std, 2);
}

TEST(Elements, DeviationFarFromZeroIsKept) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(Type::DOUBLE);
  tensor.add_dims(100000);
  for (int i = 0; i < 100000; ++i) tensor.add_double_data(1e9 + i % 2);
  const auto found = statistics_of(tensor, nullptr, {}).value();
  EXPECT_DOUBLE_EQ(found.mean.value(), 1e9 + 0.5);
  EXPECT_NEAR(found.std.value(), 0.5, 1e-9);
}

TEST(Elements, StringsAndComplexNumbersHaveNone) {
  ::onnx::TensorProto text;
  text.set_data_type(Type::STRING);
  text.add_dims(1);
  text.add_string_data("word");
  EXPECT_FALSE(statistics_of(text, nullptr, {}));
  EXPECT_EQ(std::get<std::string>(first_elements(text, 4).at(0)), "word");
  EXPECT_FALSE(statistics_of(raw(Type::COMPLEX64, 1, std::vector<std::uint8_t>(8)), nullptr, {}));
}

TEST(Elements, FirstOnesAreExact) {
  const auto first = first_elements(raw(Type::INT64, 1, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), 4);
  EXPECT_EQ(std::get<std::int64_t>(first.at(0)), std::numeric_limits<std::int64_t>::max());
  // Fewer bytes than elements: those that are there.
  EXPECT_EQ(first_elements(raw(Type::INT8, 100, {1, 2}), 4).size(), 2);
}

}  // namespace
}  // namespace compatcheck::onnx_file
