#include "conversion/branches.h"

#include <unordered_set>

#include "schema/traits.h"

namespace compatcheck::conversion {
namespace {

bool reads_shapes(const ir::Node& node) {
  return schema::has_trait(node.op(), schema::Trait::reads_form) || node.is("aten::len");
}

// Follows a number back to where it comes from: sizes, ranks and dtypes of tensors, constants, or what tensors hold.
class Origin {
 public:
  explicit Origin(const symbolic::FactTable& facts) : facts_(facts) {}

  // False if the value depends on tensors' elements, or on a number input of the model.
  bool only_shapes(const ir::Value* value) {
    std::vector<const ir::Value*> waiting{value};
    while (!waiting.empty()) {
      const ir::Value* next = waiting.back();
      waiting.pop_back();
      if (!seen_.insert(next).second) continue;
      const ir::Node* producer = next->producer();
      if (!producer) return false;
      if (reads_shapes(*producer)) {
        for (const ir::Value* input : producer->inputs()) want(facts_.of(input).wants);
        continue;
      }
      if (!producer->blocks().empty()) return false;
      for (const ir::Value* input : producer->inputs()) {
        if (ir::may_hold_tensors(input->type())) return false;
        waiting.push_back(input);
      }
    }
    return true;
  }

  std::vector<std::uint32_t> take() { return std::move(wants_); }

 private:
  void want(const std::vector<std::uint32_t>& more) { wants_ = symbolic::merge_wants(wants_, more); }

  const symbolic::FactTable& facts_;
  std::unordered_set<const ir::Value*> seen_;
  std::vector<std::uint32_t> wants_;
};

constexpr std::int64_t most_stand_in = 1 << 16;  // elements

bool is_decided(const symbolic::Fact& decision) {
  const auto* number = decision.number();
  return number && number->integer && number->integer->is_number();
}

}  // namespace

const std::vector<std::uint32_t>& DecidingInputs::of_owner(const ir::Node& owner) {
  const auto [known, added] = known_.try_emplace(&owner);
  if (!added || is_decided(facts_.of(owner.input(0)))) return known->second;
  Origin origin(facts_);
  if (origin.only_shapes(owner.input(0))) known->second = origin.take();
  return known->second;
}

std::vector<std::uint32_t> DecidingInputs::of(const ir::Block& block, Around around) {
  for (const ir::Block* inner = &block; inner->owner(); inner = inner->parent()) {
    const ir::Node& owner = *inner->owner();
    const bool counts = owner.is("prim::If") || (owner.is("prim::Loop") && around == Around::branches_and_loops);
    if (!counts) continue;
    if (const auto& wants = of_owner(owner); !wants.empty()) return wants;
  }
  return {};
}

std::optional<std::vector<std::int64_t>> stand_in_sizes(const symbolic::Fact& like) {
  const auto* tensor = like.tensor();
  if (!tensor || !tensor->shape) return std::nullopt;
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (const symbolic::Dim& dim : *tensor->shape) {
    if (!dim.is_number() || *dim.number() > most_stand_in || (elements *= *dim.number()) > most_stand_in) return std::nullopt;
    sizes.push_back(*dim.number());
  }
  return sizes;
}

}  // namespace compatcheck::conversion
