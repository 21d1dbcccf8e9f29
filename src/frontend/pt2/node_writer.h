// Appends nodes to a block. They have the origin of the node of the file that is being read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/pt2/json.h"
#include "frontend/pt2/reading.h"
#include "ir/graph.h"

namespace compatcheck::frontend::pt2 {

using Values = std::vector<ir::Value*>;

class NodeWriter {
 public:
  NodeWriter(Reading& reading, ir::Block& block) : reading_(reading), block_(&block) {}

  ir::Block& block() { return *block_; }
  void enter(ir::Block& block) { block_ = &block; }
  NodeWriter in(ir::Block& block) const;  // another block, for the same node of the file
  void begin(const Json& node);           // the next nodes come from this node of the file
  void end() { origin_ = {}; }

  ir::Node* add_node(const std::string& op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> outputs);
  ir::Value* add(const std::string& op, const Values& inputs, const ir::TypeRef& type);
  ir::Value* list(const Values& items, const ir::TypeRef& element);
  // aten::to with a dtype, which the result has; `type` is the rest of its type.
  ir::Value* cast(ir::Value* tensor, ir::Value* dtype, const ir::TensorType& type = {});
  // At the graph's top, where every block sees it; equal numbers and lists of few integers are one value. `type`: the formal
  // argument's, or null.
  ir::Value* constant(ir::Constant value, const ir::TypeRef& type = nullptr);

 private:
  Reading& reading_;
  ir::Block* block_;
  Origin origin_;
};

}  // namespace compatcheck::frontend::pt2
