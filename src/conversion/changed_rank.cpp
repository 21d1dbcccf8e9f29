#include "conversion/changed_rank.h"

#include "ir/control_flow.h"
#include "ir/value_name.h"
#include "process/spell_count.h"

namespace compatcheck::conversion {
namespace {

std::optional<std::size_t> rank_of(const ir::Value* value, const symbolic::FactTable& facts) {
  const auto* tensor = facts.of(value).tensor();
  return tensor && tensor->shape ? std::optional(tensor->shape->size()) : std::nullopt;
}

std::string dimensions(std::size_t rank) { return spell_count(rank, "dimension"); }

std::optional<ChangedRank> changed_in_loop(const ir::LoopView& loop, std::size_t i, const symbolic::FactTable& facts) {
  const ir::Value* initial = loop.initial_values()[i];
  const auto before = rank_of(initial, facts);
  if (!before) return std::nullopt;
  return ChangedRank{"the loop changes the number of dimensions of " +
                         variable({initial, loop.results()[i], loop.parameters()[i]}) + ", which has " + dimensions(*before) +
                         " before it",
                     "begin the loop with as many dimensions as an iteration gives, for example torch.zeros_like(x) instead of "
                     "torch.zeros(1)"};
}

std::optional<ChangedRank> changed_in_branches(const ir::Node& branch, std::size_t i, const symbolic::FactTable& facts) {
  const ir::Value *one = ir::IfView(branch).then_values()[i], *other = ir::IfView(branch).else_values()[i];
  const auto a = rank_of(one, facts), b = rank_of(other, facts);
  if (!a || !b || *a == *b) return std::nullopt;
  return ChangedRank{"one branch gives " + variable({branch.output(i), one, other}) + " with " + dimensions(*a) +
                         ", the other one with " + dimensions(*b),
                     "give it as many dimensions in both branches, for example with unsqueeze"};
}

}  // namespace

std::string variable(std::initializer_list<const ir::Value*> values) {
  for (const ir::Value* value : values)
    if (!ir::source_name(*value).empty()) return ir::described(*value);
  return "a variable";
}

std::optional<ChangedRank> changed_rank(const ir::Node& control, const symbolic::FactTable& facts) {
  const bool loop = control.is("prim::Loop");
  if (!loop && !control.is("prim::If")) return std::nullopt;
  for (std::size_t i = 0; i < control.outputs().size(); ++i) {
    const symbolic::Fact& fact = facts.of(control.output(i));
    if (!fact.tensor() || fact.tensor()->shape || fact.blame != &control) continue;
    if (auto changed = loop ? changed_in_loop(ir::LoopView(control), i, facts) : changed_in_branches(control, i, facts))
      return changed;
  }
  return std::nullopt;
}

}  // namespace compatcheck::conversion
