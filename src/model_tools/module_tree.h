// The objects of a TorchScript program as the tree of modules that they are.
#pragma once

#include <functional>
#include <string>

#include "ir/program.h"

namespace compatcheck::model_tools {

// Kind: "parameter", "buffer", "attribute", "constant".
using TensorVisit = std::function<void(const std::string& name, const ir::TensorView& tensor, const char* kind)>;

// Each module once, from the root on, and after it the tensors that it holds itself.
void for_each_module(const ir::Program& program,
                     const std::function<void(const std::string& path, const ir::Object& object)>& module,
                     const TensorVisit& tensor);
// Tensors that the code itself holds: "forward#0".
void for_each_constant(const ir::Program& program, const TensorVisit& tensor);

}  // namespace compatcheck::model_tools
