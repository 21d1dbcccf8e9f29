// Whether two runs gave the same.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace compatcheck::frontend::torchscript {

struct Leaf {
  std::string path;  // "0.boxes.1"
  c10::IValue value;
};

// Tensors, numbers and strings in lists, tuples, dicts and objects, in order.
std::vector<Leaf> leaves(const std::vector<c10::IValue>& values);

// Empty if equal: dtypes, sizes and strings exactly, floating values within 1e-5 of the largest, NaN equal to NaN.
// `what` names them in the text: "output", "input after the call".
std::string difference(const std::string& what, const std::vector<c10::IValue>& expected, const std::vector<c10::IValue>& found);

}  // namespace compatcheck::frontend::torchscript
