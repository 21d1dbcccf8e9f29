#include "inference/leaves.h"

#include <algorithm>

#include "ir/value_name.h"

namespace compatcheck::inference {
namespace {

using symbolic::Fact;
using symbolic::ListFact;

bool is_open(const Fact& fact) {
  const auto* tensor = fact.tensor();
  if (!tensor) return std::holds_alternative<std::monostate>(fact.value);
  return !tensor->dtype || !tensor->shape || std::ranges::any_of(*tensor->shape, &symbolic::Dim::is_unknown);
}

class Finder {
 public:
  explicit Finder(const symbolic::FactTable& facts) : facts_(facts) {}

  void add(const Leaf& leaf, const ir::TypeRef& type) {
    const Fact* fact = leaf.in(facts_.of(leaf.input));
    if (!fact || !type) return;
    if (type->kind == ir::TypeKind::optional) return add(leaf, type->elements.front());
    if (type->kind == ir::TypeKind::tensor && is_open(*fact)) found.push_back(leaf);
    if (type->kind == ir::TypeKind::tuple && fact->list() && fact->list()->items)
      for (std::size_t i = 0; i < type->elements.size(); ++i) {
        Leaf member = leaf;
        member.path.push_back(i);
        member.name += "." + std::to_string(i);
        add(member, type->elements[i]);
      }
    if (leaf.path.empty() && ir::is_tensor_list(type) && fact->list() && !fact->list()->items) {
      Leaf member = leaf;
      member.of_list = true;
      add(member, type->elements.front());
    }
  }

  std::vector<Leaf> found;

 private:
  const symbolic::FactTable& facts_;
};

}  // namespace

const Fact* Leaf::in(const Fact& whole) const {
  const Fact* fact = &whole;
  for (const std::size_t place : path) {
    const auto* list = fact->list();
    if (!list || !list->items || place >= list->items->size()) return nullptr;
    fact = &(*list->items)[place];
  }
  if (!of_list) return fact;
  const auto* list = fact->list();
  return list && !list->items ? list->element.get() : nullptr;
}

Fact Leaf::with(Fact whole, Fact leaf) const {
  Fact* fact = &whole;
  for (const std::size_t place : path) fact = &(*std::get<ListFact>(fact->value).items)[place];
  if (of_list)
    std::get<ListFact>(fact->value).element = std::make_shared<Fact>(std::move(leaf));
  else
    *fact = std::move(leaf);
  return whole;
}

std::vector<Leaf> open_leaves(const ir::Graph& graph, const symbolic::FactTable& facts) {
  Finder finder(facts);
  for (const ir::Value* input : graph.inputs())
    if (!input->unused())
      finder.add({.name = ir::input_name(*input), .input = input, .path = {}, .of_list = false}, input->type());
  return std::move(finder.found);
}

}  // namespace compatcheck::inference
