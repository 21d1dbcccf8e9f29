#include "ir/last_bits.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace compatcheck::ir {
namespace {

template <class Bits>
void flip(std::span<std::uint8_t> data, std::uint64_t draw, int last, Bits sign, Bits infinite) {
  std::mt19937_64 random(draw);
  for (std::size_t at = 0; at + sizeof(Bits) <= data.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, data.data() + at, sizeof bits);
    if ((bits & ~sign) == 0 || (bits & infinite) == infinite) continue;
    if (draw > 0 && random() % 2 == 0) continue;
    bits = static_cast<Bits>(bits ^ (Bits{1} << last));
    std::memcpy(data.data() + at, &bits, sizeof bits);
  }
}

int mantissa_bits(DType dtype) {
  switch (dtype) {
    case DType::f64: return 52;
    case DType::f16: return 10;
    case DType::bf16: return 7;
    default: return 23;
  }
}

}  // namespace

void flip_last_bits(std::span<std::uint8_t> elements, DType dtype, std::uint64_t draw, DType narrow) {
  const int last = std::max(mantissa_bits(dtype) - mantissa_bits(narrow), 0);
  switch (dtype) {
    case DType::f64: return flip<std::uint64_t>(elements, draw, last, 1ull << 63, 0x7ffull << 52);
    case DType::f32: return flip<std::uint32_t>(elements, draw, last, 1u << 31, 0xffu << 23);
    case DType::f16: return flip<std::uint16_t>(elements, draw, last, 0x8000, 0x7c00);
    case DType::bf16: return flip<std::uint16_t>(elements, draw, last, 0x8000, 0x7f80);
    default: return;
  }
}

}  // namespace compatcheck::ir
