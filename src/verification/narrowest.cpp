#include "verification/narrowest.h"

#include <utility>

namespace compatcheck::verification {
namespace {

using Narrow = std::optional<ir::DType>;

Narrow narrower(Narrow one, Narrow other) {
  if (one == ir::DType::bf16 || other == ir::DType::bf16) return ir::DType::bf16;
  return one ? one : other;
}

Narrow half(const symbolic::Fact& fact) {
  const auto* tensor = fact.tensor();
  const Narrow dtype = tensor ? tensor->dtype : std::nullopt;
  return dtype == ir::DType::f16 || dtype == ir::DType::bf16 ? dtype : std::nullopt;
}

class Walk {
 public:
  explicit Walk(const symbolic::FactTable& facts) : facts_(facts) {}

  // Returns the narrowest dtype of all nodes in the block, whose inputs depend on `around`.
  Narrow block(const ir::Block& block, Narrow around) {
    Narrow all;
    for (const ir::Value* input : block.inputs()) set(input, around);
    for (const ir::Node* node : block)
      if (!node->is("prim::Constant")) all = narrower(all, this->node(*node));
    return all;
  }

  NarrowFloats take() { return std::move(narrow_); }

 private:
  // Each iteration of a loop reads the result of the last one, so the whole body counts.
  Narrow node(const ir::Node& node) {
    Narrow narrow;
    for (const ir::Value* input : node.inputs()) narrow = narrower(narrow, of(input));
    const Narrow entering = narrow;
    for (const ir::Block* block : node.blocks()) narrow = narrower(narrow, this->block(*block, entering));
    for (const ir::Value* output : node.outputs()) narrow = narrower(narrow, half(facts_.of(output)));
    for (const ir::Value* output : node.outputs()) set(output, narrow);
    return narrow;
  }

  Narrow of(const ir::Value* value) const {
    const auto found = narrow_.find(value);
    return found == narrow_.end() ? std::nullopt : Narrow(found->second);
  }
  void set(const ir::Value* value, Narrow narrow) {
    if (narrow) narrow_.emplace(value, *narrow);
  }

  const symbolic::FactTable& facts_;
  NarrowFloats narrow_;
};

}  // namespace

NarrowFloats narrow_floats(const ir::Graph& graph, const symbolic::FactTable& facts) {
  Walk walk(facts);
  walk.block(*graph.top(), std::nullopt);
  return walk.take();
}

}  // namespace compatcheck::verification
