// A write to one of the model's inputs, which its caller would see and an ONNX model leaves out.
#pragma once

#include <string>

#include "ir/location.h"

namespace compatcheck::ir {

struct LostWrite {
  std::string input;
  std::string op;  // that writes
  LocationRef location{};
  std::string module{};
};

}  // namespace compatcheck::ir
