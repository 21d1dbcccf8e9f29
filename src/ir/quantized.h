// How quantized tensors are held, and which scales and zero points they may have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/dtype.h"
#include "ir/quantizer.h"

namespace compatcheck::ir {

// The plain dtype of its integers: i8 of qi8.
DType stored_dtype(DType quantized);

struct IntegerRange {
  std::int64_t least, greatest;
};
// Returns the integers of qi8, qu8 and qi32; nullopt for others.
std::optional<IntegerRange> integer_range(DType quantized);

bool quantizes_to_8_bits(DType dtype);  // qi8 and qu8, the ones that ONNX has operators for

// Scales are above 0, zero points are among the integers, and each position has one of both.
bool fits(const Quantizer& quantizer, DType quantized);
bool fits(const Quantizer& quantizer, DType quantized, std::span<const std::int64_t> sizes);

}  // namespace compatcheck::ir
