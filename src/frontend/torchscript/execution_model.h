// A model as libtorch itself loads and runs it, and its objects by their number in ir::Program::objects.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/protocol.h"
#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

class ExecutionModel {
 public:
  // Everything is read at the first use: a normalized graph seldom needs more than its own constants.
  explicit ExecutionModel(protocol::Model model) : model_(std::move(model)) {}

  torch::jit::Module& module();  // torch::jit::load, to the CPU, in eval mode; throws libtorch's exceptions
  torch::jit::CompilationUnit& classes() { return *module()._ivalue()->compilation_unit(); }
  const ir::Program& program();  // the project's own representation

  // The live object, or packed parameters made anew from their parts. Throws ModelError for another that only the
  // code holds.
  c10::IValue object(std::uint32_t number);

 private:
  void match(const ir::Constant& constant, const c10::IValue& value);
  c10::IValue pack(const ir::Object& object) const;

  protocol::Model model_;
  std::optional<torch::jit::Module> module_;
  std::optional<ir::Program> program_;
  std::map<std::uint32_t, c10::IValue> objects_;
};

}  // namespace compatcheck::frontend::torchscript
