// Element types of tensors, numbered as torch::ScalarType, because graphs pass
// them as plain ints (`dtype=6` is float32).
// Source: torch/headeronly/core/ScalarType.h (torch 2.13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace compatcheck::process {
class Reader;
}

namespace compatcheck::ir {

enum class DType : std::int8_t {
  u8 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  f16 = 5,
  f32 = 6,
  f64 = 7,
  c32 = 8,
  c64 = 9,
  c128 = 10,  // complex of f16, f32, f64
  boolean = 11,
  qi8 = 12,
  qu8 = 13,
  qi32 = 14,
  bf16 = 15,
  qu4x2 = 16,
  qu2x4 = 17,
  f8e5m2 = 23,
  f8e4m3fn = 24,
  f8e5m2fnuz = 25,
  f8e4m3fnuz = 26,
  u16 = 27,
  u32 = 28,
  u64 = 29,
};

// Size of one element in bytes; 0 for sub-byte types.
std::size_t element_bytes(DType dtype);

// "f32", "bool", "bf16" …: the names of the command line and the reports.
std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

// "Float", "Long", "Bool" …: the names of TorchScript's notation.
std::string_view torch_name(DType dtype);
std::optional<DType> dtype_from_torch_name(std::string_view name);

// The enumerator for torch's number; nullopt for a number that torch doesn't use.
std::optional<DType> dtype_from_number(std::int64_t number);
// As process/transfer.h reads it.
void transfer(process::Reader& in, DType& dtype);

bool is_floating(DType dtype);  // f16 bf16 f32 f64 f8*
bool is_complex(DType dtype);
bool is_integral(DType dtype);  // without bool
bool is_quantized(DType dtype);

}  // namespace compatcheck::ir
