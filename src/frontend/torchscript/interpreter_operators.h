// libtorch's operators as the interpreter calls them: chosen by name and arguments.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace compatcheck::frontend::torchscript {

class Operators {
 public:
  // Runs "aten::add" on the arguments; `overload` may be empty: then the arguments decide, as they do if it doesn't
  // fit. Missing arguments at the end get their defaults. Throws ModelError if none fits, or the kernel's exception.
  std::vector<c10::IValue> call(const std::string& name, const std::string& overload, std::vector<c10::IValue> arguments);

 private:
  using Candidates = std::vector<std::shared_ptr<torch::jit::Operator>>;
  const Candidates& candidates(const std::string& name);
  const torch::jit::Operator& choose(const std::string& name, const std::string& overload,
                                     const std::vector<c10::IValue>& arguments);

  std::unordered_map<std::string, Candidates> known_;
};

}  // namespace compatcheck::frontend::torchscript
