// Runs an ir::Graph node by node through libtorch's operators: the oracle of every pass, and the source of
// intermediate values. Nothing is fused, reordered or cached.
#pragma once

#include <ATen/core/ivalue.h>

#include <exception>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/torchscript/interpreter_constants.h"
#include "frontend/torchscript/interpreter_operators.h"
#include "ir/graph.h"

namespace compatcheck::frontend::torchscript {

class Interpreter {
 public:
  // Called with every value as it is defined.
  using Observe = std::function<void(const ir::Value&, const c10::IValue&)>;
  // Called when a block has run. Held are values of `Watch::kept`, of this block and those around it.
  using Held = std::function<const c10::IValue&(const ir::Value&)>;
  using Finished = std::function<void(const ir::Block&, const Held&)>;
  struct Watch {
    Observe defined;
    Finished finished;
    std::unordered_set<const ir::Value*> kept;  // others are let go after their last use
  };

  Interpreter(const ir::Graph& graph, ConstantSources sources, Watch watch = {});

  // Throws ModelError "%name = aten::op(…) at file:line: what went wrong".
  std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs);

 private:
  using Values = std::vector<c10::IValue>;
  void find_last_uses();
  void define(const ir::Value& value, c10::IValue held);
  void define_outputs(const ir::Node& node, Values held);
  const c10::IValue& get(const ir::Value* value) const { return values_[value->id()]; }
  Values inputs_of(const ir::Node& node) const;
  void bind(const ir::Block& block, const Values& inputs);
  Values run_block(const ir::Block& block);
  void run_node(const ir::Node& node);
  void run_if(const ir::Node& node);
  void run_loop(const ir::Node& node);
  bool run_structural(const ir::Node& node);
  bool run_container(const ir::Node& node);
  bool run_object(const ir::Node& node);
  void run_fork(const ir::Node& node);
  void run_operator(const ir::Node& node);
  void call_function(const ir::Node& node, torch::jit::Function& function, Values arguments);
  const c10::IValue& constant(const ir::Node& node);
  bool is_instance(const ir::Node& node) const;

  const ir::Graph& graph_;
  ConstantReader constants_;
  Operators operators_;
  Watch watch_;
  Values values_;                                                                 // indexed by Value::id()
  std::unordered_map<const ir::Node*, std::vector<const ir::Value*>> last_used_;  // values that no later node reads
  std::unordered_map<const ir::Node*, c10::IValue> constants_read_;
};

}  // namespace compatcheck::frontend::torchscript
