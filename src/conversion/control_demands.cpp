#include "conversion/control_demands.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "conversion/branches.h"
#include "conversion/changed_rank.h"
#include "conversion/interface.h"
#include "ir/control_flow.h"
#include "passes/rewrite.h"
#include "symbolic/shapes.h"

namespace compatcheck::conversion {
namespace {

using symbolic::Truth;

constexpr int most_branches_within = 8;

// As ONNX Runtime states them before opset 11: of a result of If the size that either branch states.
std::optional<std::vector<onnx::Dimension>> sizes_below_11(const ir::Value* value, const symbolic::FactTable& facts,
                                                           int within = 0) {
  auto sizes = shape_of(facts.of(value));
  const ir::Node* maker = value->producer();
  if (!sizes || !maker || !maker->is("prim::If") || within == most_branches_within) return sizes;
  for (const ir::Block* block : maker->blocks()) {
    const auto inner = sizes_below_11(block->outputs()[value->index()], facts, within + 1);
    for (std::size_t i = 0; inner && i < std::min(sizes->size(), inner->size()); ++i)
      if (!(*sizes)[i].size) (*sizes)[i].size = (*inner)[i].size;
  }
  return sizes;
}

bool has_other_sizes(const ir::Value* a, const ir::Value* b, const symbolic::FactTable& facts) {
  const auto first = sizes_below_11(a, facts), second = sizes_below_11(b, facts);
  if (!first || !second) return false;
  // A number of one branch counts for both, whatever the other's size is.
  return !std::ranges::equal(*first, *second, [](const auto& one, const auto& other) { return one.size == other.size; });
}

bool has_shape(const symbolic::Fact& fact) { return fact.tensor() && fact.tensor()->shape; }

// A loop's first iteration is given nothing in its place.
bool begins_undefined(const ir::Value* value) {
  const auto carried = ir::carried_by(value);
  return carried && passes::is_undefined(carried->initial_value());
}

// Whether an If passes on such a value: ONNX Runtime assumes that it has the sizes of the other branch.
bool hands_on_undefined(const ir::Value* value) {
  const ir::Node* branch = value->producer();
  return branch && branch->is("prim::If") && std::ranges::any_of(branch->blocks(), [&](const ir::Block* way) {
           const ir::Value* inner = way->outputs()[value->index()];
           return begins_undefined(inner) || hands_on_undefined(inner);
         });
}

bool states_sizes(const symbolic::Fact& fact) {
  return has_shape(fact) && !fact.tensor()->shape->empty() &&
         std::ranges::all_of(*fact.tensor()->shape, [](const symbolic::Dim& size) { return size.is_number(); });
}

// Returns the result of the loop that carries the value, if the value is None before the loop; null otherwise.
const ir::Value* none_at_first(const ir::Value* value, const symbolic::FactTable& facts) {
  const auto carried = ir::carried_by(value);
  return carried && facts.of(carried->initial_value()).is_none() ? carried->result() : nullptr;
}

}  // namespace

void demand_one_shape(const ir::Node& node, const symbolic::FactTable& facts) {
  const auto first = ir::IfView(node).then_values(), second = ir::IfView(node).else_values();
  for (std::size_t i = 0; i < first.size(); ++i) {
    // An output that no branch set is never read: it gets the other's sizes.
    const symbolic::Fact& leaving = facts.of(node.output(i));
    const bool unset = has_shape(leaving) && !(has_shape(facts.of(first[i])) && has_shape(facts.of(second[i])));
    const bool open = states_sizes(leaving) && (hands_on_undefined(first[i]) || hands_on_undefined(second[i]));
    if (open || has_other_sizes(first[i], second[i], facts) || (unset && !stand_in_sizes(leaving)))
      throw onnx::Refusal{"If gives the same sizes from both branches before opset 11", "use opset 11"};
  }
}

void demand_depth(const ir::Node& node) {
  constexpr int most = 30;
  int depth = 0;
  for (const ir::Block* block = node.owner(); block; block = block->parent()) ++depth;
  if (depth > most)
    throw onnx::Refusal{"more than " + std::to_string(most) +
                            " branches and loops stand within each other, and ONNX files that hold such can't be read",
                        "use fewer, such as a tensor that is indexed instead of a chain of elif"};
}

void demand_one_dtype(const ir::Node& node, const symbolic::FactTable& facts) {
  const auto known = [&](const ir::Value* value) { return facts.of(value).tensor() && facts.of(value).tensor()->dtype; };
  const auto dtype_of = [&](const ir::Value* value) {
    return known(value) ? std::string(ir::name(*facts.of(value).tensor()->dtype)) : std::string("another dtype");
  };
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const ir::Value* output = node.output(i);
    const symbolic::Fact& fact = facts.of(output);
    if (output->unused() || !fact.tensor() || fact.tensor()->dtype || !fact.wants.empty() || fact.blame != &node) continue;
    if (node.is("prim::Loop")) {
      const ir::Value* before = ir::LoopView(node).initial_values()[i];
      if (!known(before)) continue;
      throw onnx::Refusal{"the loop changes the dtype of " + variable({before, output}) + ", which is " + dtype_of(before) +
                              " before it, and ONNX's Loop can't",
                          "convert it to one dtype before the loop, for example with .to(torch.float32)"};
    }
    const ir::Value *one = ir::IfView(node).then_values()[i], *other = ir::IfView(node).else_values()[i];
    if (!known(one) || !known(other)) continue;  // unknown because of another value
    throw onnx::Refusal{"the branches give " + variable({output, one, other}) + " as " + dtype_of(one) + " and as " +
                            dtype_of(other) + ", and ONNX's If gives one dtype",
                        "convert it to one dtype in both branches, for example with .to(torch.float32)"};
  }
}

void demand_value(const ir::Node& node, const symbolic::FactTable& facts) {
  const bool loop = node.is("prim::Loop");
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const ir::Value* output = node.output(i);
    if (output->unused() || !ir::is(output->type(), ir::TypeKind::optional)) continue;
    const ir::Value* one = loop ? ir::LoopView(node).initial_values()[i] : ir::IfView(node).then_values()[i];
    const ir::Value* other = loop ? ir::LoopView(node).next_values()[i] : ir::IfView(node).else_values()[i];
    const ir::Value *of_one = none_at_first(one, facts), *of_other = none_at_first(other, facts);
    if (facts.of(one).is_none() == facts.of(other).is_none() && !of_one == !of_other) continue;
    const ir::Value* carried = of_one ? of_one : of_other ? of_other : output;
    throw onnx::Refusal{"only the running model knows whether " + variable({carried, output, one, other}) +
                            " is None, and such a value can't be followed through this code",
                        "use a value in each case, for example an empty tensor, and a bool that says whether it counts"};
  }
}

void demand_ranks(const ir::Node& node, const symbolic::FactTable& facts) {
  for (const ir::Value* output : node.outputs()) {
    const symbolic::Fact& fact = facts.of(output);
    if (output->unused() || !fact.tensor() || fact.tensor()->shape) continue;
    if (!fact.wants.empty() || (fact.blame && fact.blame != &node))
      throw handlers::Wanting{{.truth = Truth::unknown,
                               .message = "the rank of what leaves an If isn't known",
                               .wants = fact.wants,
                               .blame = fact.blame}};
    throw onnx::Refusal{"ONNX Runtime doesn't support an If whose branches give tensors of different ranks before opset 13",
                        "use opset 13"};
  }
}

}  // namespace compatcheck::conversion
