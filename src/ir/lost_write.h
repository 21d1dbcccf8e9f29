// A write that an ONNX model leaves out: to one of the model's inputs, where its caller would see it; or, with prim::SetAttr, to
// an attribute in which the first call keeps something for later ones.
#pragma once

#include <string>

#include "ir/location.h"

namespace compatcheck::ir {

struct LostWrite {
  std::string input;  // or the attribute's path
  std::string op;     // that writes
  LocationRef location{};
  std::string module{};
};

}  // namespace compatcheck::ir
