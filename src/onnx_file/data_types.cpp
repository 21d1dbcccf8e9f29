#include "onnx_file/data_types.h"

#include <array>
#include <limits>
#include <string_view>

namespace compatcheck::onnx_file {
namespace {

struct Row {
  std::string_view name;
  unsigned bits;
};
// Source: onnx/onnx.proto, TensorProto.DataType of onnx 1.23.
constexpr std::array<Row, 29> rows{{
    {"undefined", 0},  {"f32", 32},   {"u8", 8},         {"i8", 8},     {"u16", 16},   {"i16", 16},
    {"i32", 32},       {"i64", 64},   {"string", 0},     {"bool", 8},   {"f16", 16},   {"f64", 64},
    {"u32", 32},       {"u64", 64},   {"c64", 64},       {"c128", 128}, {"bf16", 16},  {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8}, {"u4", 4},     {"i4", 4},     {"f4e2m1", 4},
    {"f8e8m0", 8},     {"u2", 2},     {"i2", 2},         {"f6e2m3", 6}, {"f6e3m2", 6},
}};

bool known(std::int64_t data_type) { return data_type >= 0 && data_type < static_cast<std::int64_t>(rows.size()); }

}  // namespace

std::string dtype_name(std::int64_t data_type) {
  return known(data_type) ? std::string(rows[static_cast<std::size_t>(data_type)].name) : "type " + std::to_string(data_type);
}

unsigned bits_of(std::int64_t data_type) { return known(data_type) ? rows[static_cast<std::size_t>(data_type)].bits : 0; }

std::uint64_t bytes_of(std::int64_t data_type, std::uint64_t elements) {
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, std::uint64_t{bits_of(data_type)}, &bits))
    return std::numeric_limits<std::uint64_t>::max();
  return bits / 8 + (bits % 8 != 0);
}

}  // namespace compatcheck::onnx_file
