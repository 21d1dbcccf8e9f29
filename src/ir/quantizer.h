// The values of a quantized tensor's integers.
#pragma once

#include <cstdint>
#include <vector>

namespace compatcheck::ir {

// The scale and zero point of the whole tensor, or of each position along `axis`.
struct Quantizer {
  bool per_channel = false;
  double scale = 1;
  std::int64_t zero_point = 0;
  std::vector<double> scales{};  // per channel
  std::vector<std::int64_t> zero_points{};
  std::vector<double> float_zero_points{};  // for embedding tables, instead of `zero_points`: these need not be whole
  std::int64_t axis = 0;

  bool operator==(const Quantizer&) const = default;
};

}  // namespace compatcheck::ir
