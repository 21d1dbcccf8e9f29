#include "onnx/model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/number_text.h"
#include "onnx/schema.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;

// Source: onnx/onnx.proto, TensorProto.DataType.
constexpr std::array<std::pair<DType, int>, 19> data_types{{
    {DType::f32, 1},       {DType::u8, 2},          {DType::i8, 3},      {DType::u16, 4},         {DType::i16, 5},
    {DType::i32, 6},       {DType::i64, 7},         {DType::boolean, 9}, {DType::f16, 10},        {DType::f64, 11},
    {DType::u32, 12},      {DType::u64, 13},        {DType::c64, 14},    {DType::c128, 15},       {DType::bf16, 16},
    {DType::f8e4m3fn, 17}, {DType::f8e4m3fnuz, 18}, {DType::f8e5m2, 19}, {DType::f8e5m2fnuz, 20},
}};

template <class T>
void append_number(std::vector<std::uint8_t>& bytes, T value) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), at, at + sizeof(T));
}

// Out of range is undefined in C++, and in PyTorch what x86's conversion gives: the least number.
std::int64_t to_integer(double value) {
  if (std::isnan(value) || value >= 9223372036854775808.0 || value < -9223372036854775808.0)
    return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t bits(double value) { return static_cast<std::uint64_t>(to_integer(value)); }

template <class Number>
void put_as(std::vector<std::uint8_t>& bytes, DType dtype, Number number) {
  switch (dtype) {
    case DType::f64: return append_number(bytes, static_cast<double>(number));
    case DType::f32: return append_number(bytes, static_cast<float>(number));
    case DType::f16: return append_number(bytes, ir::to_half(static_cast<double>(number)));
    case DType::bf16: return append_number(bytes, ir::to_bfloat(static_cast<double>(number)));
    case DType::boolean: return append_number(bytes, static_cast<std::uint8_t>(number != Number{0}));
    case DType::i64:
    case DType::u64: return append_number(bytes, bits(number));
    case DType::i32:
    case DType::u32: return append_number(bytes, static_cast<std::uint32_t>(bits(number)));
    case DType::i16:
    case DType::u16: return append_number(bytes, static_cast<std::uint16_t>(bits(number)));
    default: return append_number(bytes, static_cast<std::uint8_t>(bits(number)));
  }
}

template <class Number>
TensorData make(DType dtype, std::vector<std::int64_t> dims, const std::vector<Number>& numbers) {
  TensorData data{.dtype = dtype, .dims = std::move(dims), .bytes = {}, .view = {}};
  data.bytes.reserve(numbers.size() * ir::element_bytes(dtype));
  for (const Number number : numbers) put_as(data.bytes, dtype, number);
  return data;
}

template <class T>
T read(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class To>
std::optional<std::vector<To>> numbers_of(const TensorData& data) {
  const std::size_t width = ir::element_bytes(data.dtype);
  if (data.view || !width || ir::is_complex(data.dtype)) return std::nullopt;
  std::vector<To> numbers;
  numbers.reserve(data.bytes.size() / width);
  for (std::size_t at = 0; at + width <= data.bytes.size(); at += width) {
    const std::uint8_t* from = data.bytes.data() + at;
    switch (data.dtype) {
      case DType::f64: numbers.push_back(static_cast<To>(read<double>(from))); break;
      case DType::f32: numbers.push_back(static_cast<To>(read<float>(from))); break;
      case DType::f16: numbers.push_back(static_cast<To>(ir::from_half(read<std::uint16_t>(from)))); break;
      case DType::bf16: numbers.push_back(static_cast<To>(ir::from_bfloat(read<std::uint16_t>(from)))); break;
      case DType::i64: numbers.push_back(static_cast<To>(read<std::int64_t>(from))); break;
      case DType::i32: numbers.push_back(static_cast<To>(read<std::int32_t>(from))); break;
      case DType::i16: numbers.push_back(static_cast<To>(read<std::int16_t>(from))); break;
      case DType::i8: numbers.push_back(static_cast<To>(read<std::int8_t>(from))); break;
      case DType::u8:
      case DType::boolean: numbers.push_back(static_cast<To>(*from)); break;
      case DType::u16: numbers.push_back(static_cast<To>(read<std::uint16_t>(from))); break;
      case DType::u32: numbers.push_back(static_cast<To>(read<std::uint32_t>(from))); break;
      default: return std::nullopt;
    }
  }
  return numbers;
}

}  // namespace

std::int64_t TensorData::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count)) return std::numeric_limits<std::int64_t>::max();
  return count;
}

const NodeAttribute* Node::attribute(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &NodeAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

ValueId Model::left_of(ValueId value) const {
  for (auto found = replaced.find(value); found != replaced.end(); found = replaced.find(value)) value = found->second;
  return value;
}

int Model::version_of(std::string_view domain) const {
  if (is_own_domain(domain)) return opset;
  const auto stated = versions.find(domain);
  return stated == versions.end() ? 1 : stated->second;
}

ValueId Model::add_value(ValueInfo info) {
  values.push_back(std::move(info));
  return static_cast<ValueId>(values.size() - 1);
}

int data_type(DType dtype) {
  const auto found = std::ranges::find(data_types, dtype, &std::pair<DType, int>::first);
  return found == data_types.end() ? 0 : found->second;
}

std::optional<DType> dtype_from_data_type(std::int64_t number) {
  for (const auto& [dtype, data_type] : data_types)
    if (data_type == number) return dtype;
  return std::nullopt;
}

TensorData make_tensor(DType dtype, std::vector<std::int64_t> dims, const std::vector<double>& numbers) {
  return make(dtype, std::move(dims), numbers);
}

TensorData make_tensor(DType dtype, std::vector<std::int64_t> dims, const std::vector<std::int64_t>& numbers) {
  return make(dtype, std::move(dims), numbers);
}

std::optional<std::vector<std::int64_t>> as_ints(const TensorData& data) {
  if (ir::is_floating(data.dtype)) return std::nullopt;
  return numbers_of<std::int64_t>(data);
}

std::optional<std::vector<double>> as_floats(const TensorData& data) { return numbers_of<double>(data); }

}  // namespace compatcheck::onnx
