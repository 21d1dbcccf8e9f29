#include "convert/branches.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <unordered_set>

namespace compatcheck::convert {
namespace {

constexpr std::array<std::string_view, 10> shape_readers{
    "aten::size", "aten::dim", "aten::numel", "aten::len", "aten::is_floating_point", "aten::is_complex",
    "prim::dtype", "prim::shape", "prim::device", "aten::ndimension"};

bool reads_shapes(const ir::Node& node) {
  return std::find(shape_readers.begin(), shape_readers.end(), node.op()) != shape_readers.end();
}

bool may_hold_tensors(const ir::TypeRef& type) {
  return !type || ir::holds(*type, ir::TypeKind::tensor) || ir::holds(*type, ir::TypeKind::any);
}

// Follows a number back to where it comes from: sizes, ranks and dtypes of tensors, constants, or what tensors hold.
class Origin {
 public:
  explicit Origin(const symbolic::FactTable& facts) : facts_(facts) {}

  // False where the value hangs on tensors' elements, or on a number that the model is given.
  bool only_shapes(const ir::Value* value) {
    if (!seen_.insert(value).second) return true;
    const ir::Node* producer = value->producer();
    if (!producer) return false;
    if (reads_shapes(*producer)) {
      for (const ir::Value* input : producer->inputs()) want(facts_.of(input).wants);
      return true;
    }
    if (!producer->blocks().empty()) return false;
    const auto inputs = producer->inputs();
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](const ir::Value* input) { return !may_hold_tensors(input->type()) && only_shapes(input); });
  }

  std::vector<std::uint32_t> take() { return std::move(wants_); }

 private:
  void want(const std::vector<std::uint32_t>& more) {
    std::vector<std::uint32_t> merged;
    std::set_union(wants_.begin(), wants_.end(), more.begin(), more.end(), std::back_inserter(merged));
    wants_ = std::move(merged);
  }

  const symbolic::FactTable& facts_;
  std::unordered_set<const ir::Value*> seen_;
  std::vector<std::uint32_t> wants_;
};

bool is_decided(const symbolic::Fact& decision) {
  const auto* number = decision.number();
  return number && number->integer && number->integer->is_number();
}

}  // namespace

std::vector<std::uint32_t> inputs_deciding(const ir::Block& block, const symbolic::FactTable& facts, Around around) {
  for (const ir::Block* inner = &block; inner->owner(); inner = inner->parent()) {
    const ir::Node& owner = *inner->owner();
    const bool counts = owner.is("prim::If") || (owner.is("prim::Loop") && around == Around::branches_and_loops);
    if (!counts || is_decided(facts.of(owner.input(0)))) continue;
    Origin origin(facts);
    if (!origin.only_shapes(owner.input(0))) continue;
    if (auto wants = origin.take(); !wants.empty()) return wants;
  }
  return {};
}

}  // namespace compatcheck::convert
