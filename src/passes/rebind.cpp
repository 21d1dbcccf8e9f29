#include "passes/rebind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/lifetimes.h"
#include "passes/rewrite.h"
#include "passes/views.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

using schema::Trait;

constexpr auto rebinding =
    std::to_array<std::string_view>({"aten::as_strided_", "aten::squeeze_", "aten::swapaxes_", "aten::swapdims_", "aten::t_",
                                     "aten::transpose_", "aten::unsqueeze_"});

bool rebinds(const ir::Node& node) {
  if (!node.schema() || node.inputs().empty() || node.outputs().size() != 1 || !is_tensor(node.input(0))) return false;
  if (node.is("aten::set_")) return node.inputs().size() == 2 && is_tensor(node.input(1));
  return std::ranges::find(rebinding, node.op()) != rebinding.end();
}

class Rebinder {
 public:
  Rebinder(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, const ir::Watch& watch)
      : aliases_(graph, program, watch),
        lifetimes_(graph),
        registry_(registry),
        watch_(watch),
        limit_(graph.value_limit()),
        returned_(returned_inputs(graph)) {}

  std::size_t run(std::vector<ir::LostWrite>* lost) {
    std::size_t done = 0;
    for (ir::Node* call : std::vector<ir::Node*>(aliases_.writers().begin(), aliases_.writers().end())) {
      if (!rebinds(*call) || !may_rebind(*call)) continue;
      if (lost) note(*call, *lost);
      rebind(call);
      ++done;
    }
    return done;
  }

 private:
  bool may_rebind(const ir::Node& call) const {
    const ir::Value* object = call.input(0);
    if (object->id() >= limit_ || !stands_under_branches(call, *object)) return false;
    const auto memory = aliases_.locations(object);
    const bool kept = std::ranges::any_of(memory, [&](LocationId id) { return !is_own(aliases_.location(id).kind); });
    const auto origins = this->origins(object);
    if (memory.empty() || (kept && !origins)) return false;
    for (const LocationId id : memory)
      for (const ir::Value* other : aliases_.observers(id)) {
        watch_.step();
        if (other == object || other == call.output() || lifetimes_.made(other) >= lifetimes_.place(&call)) continue;
        const auto reads_after = [&](const ir::Use& use) { return lifetimes_.reads_after(other, use, &call); };
        if (std::ranges::any_of(other->uses(), reads_after) && meet(origins, this->origins(other))) return false;
      }
    return true;
  }

  // The values of which each is an object of its own, one of which this value is; nullopt if it may be any object.
  using Origins = std::optional<std::set<const ir::Value*>>;
  Origins origins(const ir::Value* value, int depth = 0) const {
    constexpr int deepest = 50;
    if (is_new_object(*value)) return std::set{value};
    const ir::Node* maker = value->producer();
    if (depth == deepest || !maker || !maker->schema() || writes(*maker) || !is_tensor(value)) return std::nullopt;
    std::set<const ir::Value*> all{value};  // a copy or a view that the call makes
    for (const ir::Value* input : maker->inputs()) {
      if (!holds_memory(input->type())) continue;
      const auto more = is_tensor(input) ? origins(input, depth + 1) : std::nullopt;
      if (!more) return std::nullopt;
      all.insert(more->begin(), more->end());
    }
    return all;
  }

  static bool meet(const Origins& a, const Origins& b) {
    return !a || !b || std::ranges::any_of(*a, [&](const ir::Value* value) { return b->contains(value); });
  }

  // Memory of the call, or of an input, which is another object in each call.
  static bool is_own(MemoryLocation::Kind kind) {
    return kind == MemoryLocation::Kind::fresh || kind == MemoryLocation::Kind::input;
  }

  // Between the object's block and the call there is nothing but branches, which can return it.
  static bool stands_under_branches(const ir::Node& call, const ir::Value& object) {
    for (const ir::Block* block = call.owner(); block != object.block(); block = block->parent())
      if (!block->owner()->is("prim::If")) return false;
    return true;
  }

  // No value that was there before is this object: an input, new memory, or a view, which is an object of its own.
  bool is_new_object(const ir::Value& value) const {
    const ir::Node* maker = value.producer();
    if (!maker) return !value.block()->owner() && is_tensor(&value);
    if (!is_tensor(&value)) return false;
    if (maker->is("prim::ListUnpack") || maker->is("aten::__getitem__")) {
      const ir::Value* list = maker->input(0);
      return list->producer() && schema::has_trait(list->producer()->op(), Trait::split) && list->uses().size() == 1 &&
             list->block() == value.block();
    }
    if (!maker->schema() || writes(*maker) || gives_its_argument(*maker)) return false;
    if (schema::has_trait(maker->op(), Trait::view) || maker->is("aten::reshape") || maker->is("aten::as_strided")) return true;
    const auto memory = aliases_.locations(&value);
    return memory.size() == 1 && aliases_.location(memory[0]).maker == maker;
  }

  void note(const ir::Node& call, std::vector<ir::LostWrite>& lost) const {
    const ir::Value* object = call.input(0);
    if (!object->producer() && !object->block()->owner() && !returned_.contains(object->name()))
      lost.push_back({.name = object->name(), .op = call.op(), .location = call.location(), .module = call.module()});
  }

  void rebind(ir::Node* call) {
    ir::Value *object = call->input(0), *made = call->output();
    if (call->is("aten::set_")) {
      call->erase_input(0);
      call->set_op("aten::alias");
      aliases_.add(made, call->input(0));
    } else {
      call->set_op(std::string(schema::without_in_place(call->op())));
    }
    const schema::Schema* schema = schema::match(*call, registry_);
    call->set_schema(schema);
    call->set_overload(schema ? schema->overload : "");
    use_after(object, made, *call);
    // A branch returns the object as one more result.
    for (ir::Block* block = call->owner(); block != object->block(); block = block->parent()) {
      ir::Node* branch = block->owner();
      for (ir::Block* way : branch->blocks()) way->add_output(way == block ? made : object);
      made = branch->add_output(ir::tensor_type());
      use_after(object, made, *branch);
    }
  }

  // Uses of the object that come after the node, in its block and the blocks inside of it.
  void use_after(ir::Value* object, ir::Value* made, const ir::Node& node) const {
    const ir::Block* block = node.owner();
    const std::vector<ir::Use> uses(object->uses().begin(), object->uses().end());
    for (const ir::Use& use : uses) {
      if (!encloses(block, *use.user) || use.user == &node) continue;
      if (comes_after(*use.user, node)) use.user->replace_input(use.operand, made);
    }
  }

  bool comes_after(const ir::Node& user, const ir::Node& node) const {
    if (encloses_node(node, user)) return false;
    return lifetimes_.place(&user) > lifetimes_.place(&node);
  }

  static bool encloses_node(const ir::Node& outer, const ir::Node& node) {
    return std::ranges::any_of(outer.blocks(), [&](const ir::Block* block) { return encloses(block, node); });
  }

  Aliases aliases_;
  Lifetimes lifetimes_;
  const schema::Registry& registry_;
  const ir::Watch& watch_;
  std::size_t limit_;  // ids of the values that were there before
  std::unordered_set<std::string> returned_;
};

}  // namespace

std::size_t rebind_tensors(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                           std::vector<ir::LostWrite>* lost, const ir::Watch& watch) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) { any = any || rebinds(*node); });
  return any ? Rebinder(graph, program, registry, watch).run(lost) : 0;
}

}  // namespace compatcheck::passes
