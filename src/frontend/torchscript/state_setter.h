// `__setstate__` without libtorch's interpreter: the few operations that take a saved state apart are done here, a
// bounded number of them. No kernel and no other code of the model runs.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace torch::jit {
struct Block;
struct Function;
struct Node;
struct Value;
}  // namespace torch::jit

namespace compatcheck::frontend::torchscript {

// Why a `__setstate__` wasn't carried out: "calls aten::zeros", "takes more than 100000 steps".
struct StateNotSet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class StateSetter {
 public:
  // Calls `set_state` with the object and its state. Throws StateNotSet.
  void run(torch::jit::Function& set_state, const c10::IValue& object, const c10::IValue& state);

 private:
  using Values = std::unordered_map<const torch::jit::Value*, c10::IValue>;
  std::vector<c10::IValue> call(torch::jit::Function& function, const std::vector<c10::IValue>& arguments);
  std::vector<c10::IValue> block(torch::jit::Block& block, Values& values);
  void node(torch::jit::Node& node, Values& values);
  std::vector<c10::IValue> outputs(torch::jit::Node& node, const std::vector<c10::IValue>& in, Values& values);
  std::vector<c10::IValue> call_method(torch::jit::Node& node, const std::vector<c10::IValue>& in);

  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace compatcheck::frontend::torchscript
