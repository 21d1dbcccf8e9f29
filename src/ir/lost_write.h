// A write that an ONNX model leaves out.
#pragma once

#include <cstdint>
#include <string>

#include "ir/location.h"

namespace compatcheck::ir {

struct LostWrite {
  enum class Kind : std::uint8_t {
    input,  // a write to one of the model's inputs, which the caller would see
    cache,  // a write to an attribute in which the first call keeps something for later ones
  };
  std::string name;  // the input's, or the attribute's path
  std::string op;    // the operator that writes
  LocationRef location{};
  std::string module{};
  Kind kind = Kind::input;
};

}  // namespace compatcheck::ir
