#include "verification/domains.h"

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/control_flow.h"
#include "schema/traits.h"
#include "symbolic/indices.h"

namespace compatcheck::verification {
namespace {

using schema::Trait;
using symbolic::Call;
using symbolic::size_of;

// Whether the result holds the same elements, or some of them.
bool passes_elements_on(const ir::Node& node) {
  return schema::has_trait(node.op(), Trait::same_order) || schema::has_trait(node.op(), Trait::moves_elements);
}

// Whether the result is one of the elements, or a tensor becomes a number or a number a tensor.
bool picks_element(const ir::Node& node) {
  return node.is("aten::select") || node.is("aten::item") || node.is("aten::Int") || node.is("aten::IntImplicit") ||
         node.is("aten::tensor") || node.is("prim::NumToTensor");
}

class DomainSearch {
 public:
  explicit DomainSearch(const symbolic::FactTable& facts) : facts_(facts) {}

  Domain of(const ir::Value* input) {
    waiting_.push_back(input);
    while (!waiting_.empty()) {
      const ir::Value* value = waiting_.back();
      waiting_.pop_back();
      if (!seen_.insert(value).second) continue;
      for (const ir::Use& use : value->uses()) look(*use.user, value);
    }
    waiting_.push_back(input);
    choose();
    return domain_;
  }

 private:
  // Follows elements through picks, branches and loops, too.
  void choose() {
    std::unordered_set<const ir::Value*> followed;
    std::vector<const ir::Node*> picks;
    while (!waiting_.empty()) {
      const ir::Value* value = waiting_.back();
      waiting_.pop_back();
      if (!followed.insert(value).second) continue;
      for (const ir::Use& use : value->uses()) {
        const ir::Node& node = *use.user;
        follow(use);
        if (node.is("aten::select") && use.operand == 2) {
          picks.push_back(&node);
          const Call call(node, facts_);
          if (const auto below = size_of(call.fact("self"), call.integer("dim"))) domain_.chosen.push_back(*below);
        }
        for (const auto& index : node.schema() ? symbolic::index_arguments(Call(node, facts_)) : no_indices)
          if (index.value == value && index.below) domain_.chosen.push_back(*index.below);
      }
    }
    domain_.follows_itself = std::ranges::any_of(picks, [&](const ir::Node* node) { return followed.contains(node->input(0)); });
  }

  void follow(const ir::Use& use) {
    const ir::Node& node = *use.user;
    const auto wait = [&](std::span<ir::Value* const> values, std::size_t place) {
      if (place < values.size()) waiting_.push_back(values[place]);
    };
    if ((picks_element(node) && use.operand == 0) || passes_elements_on(node))
      for (const ir::Value* output : node.outputs()) waiting_.push_back(output);
    if (node.is("prim::Loop") && use.operand >= ir::LoopView::first_initial_value)
      wait(ir::LoopView(node).parameters(), use.operand - ir::LoopView::first_initial_value);
    if (const ir::Value* result = ir::returned_as(use)) {
      waiting_.push_back(result);
      if (result->producer()->is("prim::Loop")) wait(ir::LoopView(*result->producer()).parameters(), result->index());
    }
  }

  void look(const ir::Node& node, const ir::Value* value) {
    if (node.is("prim::ListConstruct")) look_at_users(node, value);
    if (node.schema()) look_at_call(Call(node, facts_), value);
    if (passes_elements_on(node))
      for (const ir::Value* output : node.outputs()) waiting_.push_back(output);
  }

  // x[i, j]: each member of the list indexes a dimension of its own.
  void look_at_users(const ir::Node& list, const ir::Value* value) {
    for (const ir::Use& use : list.output()->uses()) look_at_indices(*use.user, value);
  }

  void look_at_indices(const ir::Node& node, const ir::Value* value) {
    for (const auto& index : symbolic::index_arguments(Call(node, facts_)))
      if (index.value == value) bound(index.below);
  }

  void look_at_call(const Call& call, const ir::Value* value) {
    const auto is = [&](std::string_view argument) { return call.value(argument) == value; };
    const std::string_view op = call.op();
    look_at_indices(call.node(), value);
    if (is("offsets"))
      bound(symbolic::Dim(1));
    else if (op == "aten::cross_entropy_loss" && is("target"))
      bound(size_of(call.fact("self"), call.rank("self") == 1 ? 0 : 1));
    else if (op == "aten::_pack_padded_sequence" && is("lengths"))
      domain_.longest = size_of(call.fact("input"), call.boolean("batch_first") == true ? 1 : 0).value_or(symbolic::Dim(1));
    else if (op == "aten::binary_cross_entropy" && (is("self") || is("target")))
      domain_.share = true;
    else if (schema::has_trait(op, Trait::divides) && is("other"))
      domain_.divides = true;
  }

  void bound(const std::optional<symbolic::Dim>& below) {
    if (below) domain_.below.push_back(*below);
  }

  static inline const std::vector<symbolic::IndexArgument> no_indices{};

  const symbolic::FactTable& facts_;
  std::vector<const ir::Value*> waiting_;
  std::unordered_set<const ir::Value*> seen_;
  Domain domain_;
};

}  // namespace

Domain domain_of(const ir::Value* input, const symbolic::FactTable& facts) { return DomainSearch(facts).of(input); }

}  // namespace compatcheck::verification
