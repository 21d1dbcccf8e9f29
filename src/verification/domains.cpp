#include "verification/domains.h"

#include <string_view>
#include <unordered_set>
#include <vector>

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
    return domain_;
  }

 private:
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
    else if ((op == "aten::_pack_padded_sequence" || op == "aten::pack_padded_sequence") && is("lengths"))
      domain_.longest = size_of(call.fact("input"), call.boolean("batch_first") == true ? 1 : 0).value_or(symbolic::Dim(1));
    else if (op == "aten::binary_cross_entropy" && (is("self") || is("target")))
      domain_.share = true;
    else if (schema::has_trait(op, Trait::divides) && is("other"))
      domain_.divides = true;
  }

  void bound(const std::optional<symbolic::Dim>& below) {
    if (below) domain_.below.push_back(*below);
  }

  const symbolic::FactTable& facts_;
  std::vector<const ir::Value*> waiting_;
  std::unordered_set<const ir::Value*> seen_;
  Domain domain_;
};

}  // namespace

Domain domain_of(const ir::Value* input, const symbolic::FactTable& facts) { return DomainSearch(facts).of(input); }

}  // namespace compatcheck::verification
