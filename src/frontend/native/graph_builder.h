// Nodes of a graph in the making.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::frontend::native {

// A value with the type that the code gives it, which may be wider than that of the node that makes it: x : Optional[Tensor] =
// None.
struct Typed {
  ir::Value* value = nullptr;  // null while a call is only tried
  ir::TypeRef type{};
};

class GraphBuilder {
 public:
  explicit GraphBuilder(ir::Graph& graph) : graph_(&graph), block_(graph.top()) {}

  ir::Block* block() const { return block_; }
  ir::Block* enter(ir::Block* block) { return std::exchange(block_, block); }
  void set_location(ir::LocationRef location) { location_ = std::move(location); }
  const ir::LocationRef& location() const { return location_; }

  ir::Node* add(std::string op, const std::vector<Typed>& inputs) {
    std::vector<ir::Value*> values;
    for (const Typed& input : inputs) values.push_back(input.value);
    ir::Node* node = graph_->create(std::move(op), values);
    node->set_location(location_);
    block_->append(node);
    return node;
  }
  Typed add(std::string op, const std::vector<Typed>& inputs, const ir::TypeRef& type) {
    return {add(std::move(op), inputs)->add_output(type), type};
  }
  Typed constant(ir::Constant value, const ir::TypeRef& type) {
    ir::Node* node = add("prim::Constant", {});
    node->set_attribute("value", std::move(value));
    return {node->add_output(type), type};
  }
  Typed constant(ir::Constant value) {
    const ir::TypeRef type = ir::type_of(value);
    return constant(std::move(value), type);
  }

 private:
  ir::Graph* graph_;
  ir::Block* block_;
  ir::LocationRef location_;
};

}  // namespace compatcheck::frontend::native
