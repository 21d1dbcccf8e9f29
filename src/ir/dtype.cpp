#include "ir/dtype.h"

#include <algorithm>
#include <array>

#include "process/transfer.h"

namespace compatcheck::ir {
namespace {

enum class Family : std::uint8_t { integral, floating, complex, boolean, quantized };

struct Row {
  DType dtype;
  std::string_view name;
  std::string_view torch_name;
  std::uint8_t bytes;
  Family family;
};

constexpr std::array rows{
    Row{DType::u8, "u8", "Byte", 1, Family::integral},
    Row{DType::i8, "i8", "Char", 1, Family::integral},
    Row{DType::i16, "i16", "Short", 2, Family::integral},
    Row{DType::i32, "i32", "Int", 4, Family::integral},
    Row{DType::i64, "i64", "Long", 8, Family::integral},
    Row{DType::f16, "f16", "Half", 2, Family::floating},
    Row{DType::f32, "f32", "Float", 4, Family::floating},
    Row{DType::f64, "f64", "Double", 8, Family::floating},
    Row{DType::c32, "c32", "ComplexHalf", 4, Family::complex},
    Row{DType::c64, "c64", "ComplexFloat", 8, Family::complex},
    Row{DType::c128, "c128", "ComplexDouble", 16, Family::complex},
    Row{DType::boolean, "bool", "Bool", 1, Family::boolean},
    Row{DType::qi8, "qi8", "QInt8", 1, Family::quantized},
    Row{DType::qu8, "qu8", "QUInt8", 1, Family::quantized},
    Row{DType::qi32, "qi32", "QInt32", 4, Family::quantized},
    Row{DType::bf16, "bf16", "BFloat16", 2, Family::floating},
    Row{DType::qu4x2, "qu4x2", "QUInt4x2", 0, Family::quantized},
    Row{DType::qu2x4, "qu2x4", "QUInt2x4", 0, Family::quantized},
    Row{DType::f8e5m2, "f8e5m2", "Float8_e5m2", 1, Family::floating},
    Row{DType::f8e4m3fn, "f8e4m3fn", "Float8_e4m3fn", 1, Family::floating},
    Row{DType::f8e5m2fnuz, "f8e5m2fnuz", "Float8_e5m2fnuz", 1, Family::floating},
    Row{DType::f8e4m3fnuz, "f8e4m3fnuz", "Float8_e4m3fnuz", 1, Family::floating},
    Row{DType::u16, "u16", "UInt16", 2, Family::integral},
    Row{DType::u32, "u32", "UInt32", 4, Family::integral},
    Row{DType::u64, "u64", "UInt64", 8, Family::integral},
};

const Row& row(DType dtype) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.dtype == dtype; });
}

template <class Matches>
std::optional<DType> find(Matches&& matches) {
  const auto* it = std::find_if(rows.begin(), rows.end(), matches);
  if (it == rows.end()) return std::nullopt;
  return it->dtype;
}

}  // namespace

std::size_t element_bytes(DType dtype) { return row(dtype).bytes; }
std::string_view name(DType dtype) { return row(dtype).name; }
std::string_view torch_name(DType dtype) { return row(dtype).torch_name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  return find([&](const Row& r) { return r.name == name; });
}

std::optional<DType> dtype_from_torch_name(std::string_view name) {
  return find([&](const Row& r) { return r.torch_name == name; });
}

std::optional<DType> dtype_from_number(std::int64_t number) {
  return find([&](const Row& r) { return static_cast<std::int64_t>(r.dtype) == number; });
}

void transfer(process::Reader& in, DType& dtype) {
  const auto known = dtype_from_number(static_cast<std::int64_t>(in.number()));
  if (!known) throw process::Damaged("an element type is unknown");
  dtype = *known;
}

bool is_floating(DType dtype) { return row(dtype).family == Family::floating; }
bool is_complex(DType dtype) { return row(dtype).family == Family::complex; }
bool is_integral(DType dtype) { return row(dtype).family == Family::integral; }
bool is_quantized(DType dtype) { return row(dtype).family == Family::quantized; }

}  // namespace compatcheck::ir
