// aten::_foreach_X of lists whose members are known becomes a call of aten::X for each member.
#include <algorithm>
#include <optional>
#include <string_view>

#include "passes/alias.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

constexpr std::string_view prefix = "aten::_foreach_";

bool is_foreach(const ir::Node& node) {
  if (!node.op().starts_with(prefix) || !node.schema()) return false;
  // One tensor that holds a number for each member.
  return !(node.overload() == "Tensor" && node.op().starts_with("aten::_foreach_addc"));
}

// Returns the operator for each member; PyTorch computes maximum and minimum by clamping.
std::string member_op(std::string_view op) {
  const std::string_view name = op.substr(prefix.size());
  if (name == "norm") return "aten::linalg_vector_norm";
  for (const auto& [of, instead] : {std::pair{"maximum", "clamp_min"}, {"minimum", "clamp_max"}})
    if (name.starts_with(of)) return "aten::" + std::string(instead) + std::string(name.substr(std::string_view(of).size()));
  return "aten::" + std::string(name);
}

bool is_list(const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::list); }

// In-place forms write the members, and no list.
bool is_changed(const ir::Value* list, const Aliases& aliases) {
  if (!aliases.any_writes() || !is_list(list)) return false;
  return std::ranges::any_of(aliases.locations(list), [&](LocationId id) {
    return std::ranges::any_of(aliases.writers_of(id), [](const ir::Node* writer) { return !writer->op().starts_with(prefix); });
  });
}

class Expansion {
 public:
  explicit Expansion(ir::Node* node) : node_(node) {
    for (const ir::Value* input : node->inputs()) {
      if (!is_list(input)) continue;
      const auto size = length_of(input);
      possible_ = possible_ && size && (!size_ || size_ == size);
      size_ = size;
    }
  }

  std::optional<std::size_t> size() const { return possible_ ? size_ : std::nullopt; }

  // Null if aten::X takes no such arguments.
  ir::Node* call(std::size_t member, const schema::Registry& registry) const {
    std::vector<ir::Value*> inputs;
    for (ir::Value* input : node_->inputs()) inputs.push_back(of_member(input, member));
    if (node_->is("aten::_foreach_norm") && inputs.size() == 3)  // over all dimensions, keeping none
      inputs.insert(inputs.begin() + 2, {constant_before(node_, {}), constant_before(node_, {false})});
    const auto tensor = ir::simple_type(ir::TypeKind::tensor);
    ir::Node* made = node_before(node_, member_op(node_->op()), inputs, std::span(&tensor, 1));
    if (!complete_call(made, registry)) return made->erase(), nullptr;
    return made;
  }

 private:
  static std::optional<std::size_t> length_of(const ir::Value* list) {
    if (const auto* constant = known<ir::ListConstant>(list)) return constant->items.size();
    const ir::Node* made = list->producer();
    return made && made->is("prim::ListConstruct") ? std::optional(made->inputs().size()) : std::nullopt;
  }

  ir::Value* of_member(ir::Value* input, std::size_t member) const {
    if (!is_list(input)) return input;
    if (const auto* constant = known<ir::ListConstant>(input)) return constant_before(node_, constant->items[member]);
    return input->producer()->input(member);
  }

  ir::Node* node_;
  std::optional<std::size_t> size_;
  bool possible_ = true;
};

bool expand(ir::Node* node, const schema::Registry& registry, Budget& budget) {
  const Expansion expansion(node);
  const auto size = expansion.size();
  if (!size || node->outputs().size() > 1 || !spend(budget.unrolled, *size)) return false;
  std::vector<ir::Value*> results;
  for (std::size_t i = 0; i < *size; ++i) {
    const ir::Node* made = expansion.call(i, registry);
    if (!made) {
      for (ir::Value* result : results) result->producer()->erase();
      return false;
    }
    results.push_back(made->output());
  }
  if (!node->outputs().empty()) {
    const ir::TypeRef type = node->output()->type();
    replace(node->output(), node_before(node, "prim::ListConstruct", results, std::span(&type, 1))->output());
  }
  node->erase();
  return true;
}

}  // namespace

std::size_t expand_foreach(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget& budget,
                           const ir::Watch& watch) {
  std::vector<ir::Node*> calls;
  for (ir::Node* node : all_nodes(graph, watch))
    if (is_foreach(*node)) calls.push_back(node);
  if (calls.empty()) return 0;
  const auto aliases = Aliases::of(graph, program, watch);
  std::erase_if(calls, [&](const ir::Node* node) {
    return std::ranges::any_of(node->inputs(), [&](const ir::Value* input) { return is_changed(input, *aliases); });
  });
  return static_cast<std::size_t>(std::ranges::count_if(calls, [&](ir::Node* node) { return expand(node, registry, budget); }));
}

}  // namespace compatcheck::passes
