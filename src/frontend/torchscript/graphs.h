// libtorch's graphs as the IR's, as the importer makes them: method calls, attribute reads and all.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/torchscript/sources.h"
#include "frontend/torchscript/types.h"
#include "frontend/torchscript/values.h"
#include "ir/program.h"

namespace torch::jit {
struct Function;
}

namespace compatcheck::frontend::torchscript {

class Graphs {
 public:
  Graphs(ir::Program& program, Types& types, Values& values, Sources& sources)
      : program_(program), types_(types), values_(values), sources_(sources) {}

  // Adds the function and its graph to the program, once. Throws ModelError for what has no graph.
  void convert(torch::jit::Function& function);
  // Free functions that converted graphs name as constants, since the last call.
  std::vector<torch::jit::Function*> take_called();

 private:
  using ValueOf = std::unordered_map<const torch::jit::Value*, ir::Value*>;
  void fill_block(const torch::jit::Block& from, ir::Block* into);
  void convert_node(const torch::jit::Node& from, ir::Block* into);
  void convert_constant(const torch::jit::Node& from, ir::Node* into);
  ir::Constant attribute(const torch::jit::Node& from, c10::Symbol name);
  void take_name(const torch::jit::Value& from, ir::Value* into);
  ir::FunctionConstant outlined(const torch::jit::Graph& graph);

  ir::Program& program_;
  Types& types_;
  Values& values_;
  Sources& sources_;
  std::string name_;  // name of the function being converted
  ir::Graph* graph_ = nullptr;
  ValueOf value_of_;
  std::size_t depth_ = 0;
  std::vector<torch::jit::Function*> called_;
};

}  // namespace compatcheck::frontend::torchscript
