// The first step of taking in-place writes away: a write to memory that is made here and that no other value leads to
// afterwards is as good as a new value. Writes through views, across branches and loops, to inputs and attributes are
// left, with the reason.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/order.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool among(std::string_view op, std::span<const std::string_view> operators) {
  return std::find(operators.begin(), operators.end(), op) != operators.end();
}

// Their functional forms answer with bool whatever they are asked of; in place they keep the tensor's dtype.
constexpr auto answers_bool = std::to_array<std::string_view>(
    {"aten::eq_", "aten::ne_", "aten::lt_", "aten::le_", "aten::gt_", "aten::ge_", "aten::equal_", "aten::not_equal_",
     "aten::less_", "aten::less_equal_", "aten::greater_", "aten::greater_equal_", "aten::logical_and_",
     "aten::logical_or_", "aten::logical_xor_", "aten::logical_not_"});

// In place they keep the tensor's dtype; their functional forms promote it with that of another tensor.
constexpr auto promotes = std::to_array<std::string_view>(
    {"aten::add_", "aten::sub_", "aten::subtract_", "aten::mul_", "aten::multiply_", "aten::div_", "aten::divide_",
     "aten::true_divide_", "aten::floor_divide_", "aten::remainder_", "aten::fmod_", "aten::pow_", "aten::float_power_",
     "aten::atan2_", "aten::arctan2_", "aten::hypot_", "aten::copysign_", "aten::nextafter_", "aten::xlogy_",
     "aten::ldexp_", "aten::gcd_", "aten::lcm_", "aten::heaviside_", "aten::bitwise_and_", "aten::bitwise_or_",
     "aten::bitwise_xor_", "aten::bitwise_left_shift_", "aten::bitwise_right_shift_", "aten::__and_", "aten::clamp_",
     "aten::clip_", "aten::clamp_min_", "aten::clamp_max_", "aten::addcmul_", "aten::addcdiv_", "aten::lerp_",
     "aten::__iand__", "aten::__ior__", "aten::__ixor__", "aten::__iadd__", "aten::__isub__", "aten::__imul__",
     "aten::__idiv__"});

// They change what the tensor object is, not only what it holds.
constexpr auto reshapes_storage = std::to_array<std::string_view>(
    {"aten::resize_", "aten::resize_as_", "aten::set_", "aten::swap_", "aten::sparse_resize_", "aten::rename_"});

std::string shown(const ir::Value* value) {
  return "%" + (value->name().empty() ? std::to_string(value->id()) : value->name());
}

class Writes {
 public:
  Writes(const ir::Graph& graph, const ir::Program* program) : order_(graph), aliases_(graph, program) {}

  std::span<ir::Node* const> all() const { return aliases_.writers(); }

  // Why the write can't be taken for a new value; empty if it can.
  std::string obstacle(const ir::Node& node) {
    if (node.is("prim::SetAttr") && !ir::constant_of(node.input(0)))
      return "writes attribute " + std::string(attribute_name(node)) + " of an object that the model makes as it runs";
    if (node.is("prim::SetAttr"))
      return "writes attribute " + std::string(attribute_name(node)) + ", which keeps its value between calls";
    const auto operands = written_operands(node);
    if (operands.empty()) return "writes memory that its arguments don't show";
    const ir::Value* target = node.input(operands[0]);
    if (!ir::is(target->type(), ir::TypeKind::tensor)) return container_obstacle(node, target);
    if (operands.size() != 1 || operands[0] != 0) return "writes more than its first argument";
    const auto memory = aliases_.locations(target);
    if (memory.empty()) return "writes memory of unknown origin";
    for (LocationId id : memory)
      if (std::string why = memory_obstacle(node, target, id); !why.empty()) return why;
    return {};
  }

  // All later uses of the written tensor read `result`.
  void replace_later_uses(const ir::Node& node, ir::Value* written, ir::Value* result) {
    const std::vector<ir::Use> uses(written->uses().begin(), written->uses().end());
    for (const ir::Use& use : uses)
      if (is_later(use, node)) use.user->replace_input(use.operand, result);
    aliases_.add(result, written);
  }

  // Nothing else writes what `value` leads to, nor the memory of `target` but `node` itself.
  bool only_write(const ir::Node& node, const ir::Value* target, const ir::Value* value) const {
    if (aliases_.reach_written(value)) return false;
    const auto memory = aliases_.locations(target);
    return std::all_of(memory.begin(), memory.end(), [&](LocationId id) {
      const auto writers = aliases_.writers_of(id);
      return std::all_of(writers.begin(), writers.end(), [&](const ir::Node* writer) { return writer == &node; });
    });
  }

 private:
  // Nodes made here stand where the write stood that they replace, and read what it read.
  bool is_later(const ir::Use& use, const ir::Node& node) const {
    const auto place = order_.of(use.user);
    return place && *place > *order_.of(&node) && !exclude_each_other(*use.user, node);
  }

  // The two stand in different blocks of one If.
  static bool exclude_each_other(const ir::Node& a, const ir::Node& b) {
    for (const ir::Block* x = a.owner(); x->owner(); x = x->parent())
      for (const ir::Block* y = b.owner(); y->owner(); y = y->parent())
        if (x->owner() == y->owner()) return x != y && x->owner()->is("prim::If");
    return false;
  }

  // A value that is made after the write leads to the memory by later uses of what led to it before.
  bool made_before(const ir::Value* value, const ir::Node& node) const {
    const ir::Node* maker = value->producer();
    if (!maker) maker = value->block()->owner();
    if (!maker) return true;  // an input of the graph
    if (value->producer() && !maker->blocks().empty()) maker = maker->blocks().back()->return_node();
    const auto place = order_.of(maker);
    return !place || *place < *order_.of(&node);
  }

  std::string container_obstacle(const ir::Node& node, const ir::Value* target) const {
    const std::string kind = ir::is(target->type(), ir::TypeKind::dict) ? "dict " : "list ";
    const std::string writes = "changes the " + kind + shown(target);
    if (!ir::is(target->type(), ir::TypeKind::dict) && !ir::is(target->type(), ir::TypeKind::list))
      return "writes to " + shown(target) + ", which isn't a tensor";
    for (LocationId id : aliases_.locations(target)) {
      const MemoryLocation& location = aliases_.location(id);
      if (location.kind == MemoryLocation::Kind::input) return writes + ", an input of the model";
      if (location.kind == MemoryLocation::Kind::attribute)
        return writes + ", attribute " + location.name + ", which keeps its value between calls";
      if (location.maker && location.maker->owner() != node.owner())
        return writes + ", which is made outside of this " + (inside_loop(node, location.maker) ? "loop" : "branch");
    }
    return writes + " in place, where its items aren't known or something else may hold it";
  }

  static bool inside_loop(const ir::Node& node, const ir::Node* maker) {
    for (const ir::Block* block = node.owner(); block && block != maker->owner(); block = block->parent())
      if (block->owner() && block->owner()->is("prim::Loop")) return true;
    return false;
  }

  std::string memory_obstacle(const ir::Node& node, const ir::Value* target, LocationId id) {
    const MemoryLocation& location = aliases_.location(id);
    if (location.kind == MemoryLocation::Kind::input)
      return "writes to the model's input" + (location.name.empty() ? "" : " %" + location.name);
    if (location.kind == MemoryLocation::Kind::attribute)
      return "writes attribute " + location.name + ", which keeps its value between calls";
    if (location.kind != MemoryLocation::Kind::fresh || !location.maker) return "writes to a constant";
    if (!encloses(location.maker->owner(), node)) return "writes to " + shown(target) + ", which is made elsewhere";
    if (inside_loop(node, location.maker))
      return "writes to " + shown(target) + ", which is made outside of this loop";
    for (const ir::Value* observer : aliases_.observers(id)) {
      if (observer != target && !made_before(observer, node)) continue;
      for (const ir::Use& use : observer->uses()) {
        if (!is_later(use, node)) continue;
        if (observer != target) return observer_obstacle(target, observer, *location.maker);
        if (!encloses(node.owner(), *use.user))
          return "writes to " + shown(target) + " in a branch, and " + shown(target) + " is read after it";
      }
    }
    return {};
  }

  static std::string observer_obstacle(const ir::Value* target, const ir::Value* observer, const ir::Node& maker) {
    if (target->producer() != &maker) return "writes through a view of " + shown(observer);
    return "writes to " + shown(target) + ", which is also read as " + shown(observer);
  }

  // Whether the node stands in the block, be it nested.
  static bool encloses(const ir::Block* block, const ir::Node& node) {
    for (const ir::Block* around = node.owner(); around; around = around->parent())
      if (around == block) return true;
    return false;
  }

  Order order_;
  Aliases aliases_;
};

// An in-place operator returns the tensor it wrote: let everybody read that one.
void use_written_itself(const ir::Graph& graph) {
  ir::for_each_node(*graph.top(), [](ir::Node* node) {
    const schema::Schema* schema = node->schema();
    if (!schema || !writes(*node) || node->outputs().size() != 1 || schema->returns.size() != 1) return;
    if (schema->arguments.empty() || !schema->arguments[0].written || !schema->returns[0].written) return;
    if (ir::is(node->output()->type(), ir::TypeKind::tensor)) node->output()->replace_all_uses_with(node->input(0));
  });
}

class Functionalizer {
 public:
  Functionalizer(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry)
      : graph_(graph), registry_(registry), writes_(graph, program) {}

  std::size_t run() {
    std::size_t changed = 0;
    for (ir::Node* node : writes_.all())
      if (writes_.obstacle(*node).empty() && functionalize(node)) ++changed;
    return changed;
  }

 private:
  bool functionalize(ir::Node* node) {
    ir::Value* target = node->input(0);
    if (among(node->op(), reshapes_storage) || node->schema()->is_out() || node->outputs().size() != 1) return false;
    if (node->is("aten::requires_grad_")) return finish(node, target, target);
    if (node->is("aten::zero_")) return fill(node, target, "aten::zeros_like");
    if (node->is("aten::fill_") && !ir::is(node->input(1)->type(), ir::TypeKind::tensor))
      return fill(node, target, "aten::full_like");
    if (node->is("aten::copy_") || node->is("aten::fill_")) return copy(node, target);
    return take_functional_form(node, target);
  }

  bool finish(ir::Node* node, ir::Value* target, ir::Value* result) {
    if (result != target) writes_.replace_later_uses(*node, target, result);
    if (node->output() != result) node->erase();
    return true;
  }

  // A node of this operator beside the write, with the schema that fits; null if none does.
  ir::Node* build(ir::Node* place, std::string op, std::span<ir::Value* const> inputs) {
    ir::Node* node = graph_.create(std::move(op), inputs);
    node->add_output(ir::tensor_type());
    const schema::Schema* schema = schema::match(*node, registry_);
    if (!schema) {
      node->erase();
      return nullptr;
    }
    node->set_schema(schema);
    node->set_overload(schema->overload);
    node->copy_origin(*place);
    node->insert_before(place);
    return node;
  }

  // x.zero_() → zeros_like(x); x.fill_(v) → full_like(x, v): dtype, layout, device, pinning, format as x has them.
  bool fill(ir::Node* node, ir::Value* target, std::string op) {
    ir::Value* none = constant_before(node, {});
    std::vector<ir::Value*> inputs{target};
    if (node->is("aten::fill_")) inputs.push_back(node->input(1));
    inputs.insert(inputs.end(), 5, none);
    ir::Node* made = build(node, std::move(op), inputs);
    return made && finish(node, target, made->output());
  }

  // x.copy_(y) → y as x's dtype, expanded to x's shape. That may be y itself, so nothing may write either.
  bool copy(ir::Node* node, ir::Value* target) {
    if (!writes_.only_write(*node, target, node->input(1))) return false;
    ir::Value* cast_inputs[] = {node->input(1), target};
    ir::Node* cast = build(node, "aten::type_as", cast_inputs);
    if (!cast) return false;
    ir::Value* expand_inputs[] = {cast->output(), target};
    ir::Node* expand = build(node, "aten::expand_as", expand_inputs);
    return expand && finish(node, target, expand->output());
  }

  // The overload of the functional form that takes the same arguments.
  const schema::Schema* functional_schema(const ir::Node& node) const {
    const auto name = registry_.functional_form(node.op());
    if (!name) return nullptr;
    const auto fits = [&](const schema::Schema* schema) {
      const auto& mine = node.schema()->arguments;
      return schema && !schema->writes() && schema->returns.size() == 1 && schema->arguments.size() >= node.inputs().size() &&
             std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(node.inputs().size()), schema->arguments.begin(),
                        [](const auto& a, const auto& b) { return ir::same_structure(*a.type, *b.type); });
    };
    if (const auto* same = registry_.find(*name, node.overload()); fits(same)) return same;
    for (const schema::Schema* overload : registry_.overloads(*name))
      if (fits(overload)) return overload;
    return nullptr;
  }

  static bool may_promote(const ir::Node& node) {
    if (!among(node.op(), promotes)) return false;
    const auto& own = node.input(0)->type()->tensor.dtype;
    const auto others = node.inputs().subspan(1);
    return std::any_of(others.begin(), others.end(), [&](const ir::Value* other) {
      if (!ir::is(other->type(), ir::TypeKind::tensor)) return false;
      return !own || !other->type()->tensor.dtype || *own != *other->type()->tensor.dtype;
    });
  }

  bool take_functional_form(ir::Node* node, ir::Value* target) {
    const schema::Schema* schema = functional_schema(*node);
    if (!schema) return false;
    const bool promoted = may_promote(*node);
    const bool boolean = among(node->op(), answers_bool);
    node->set_op(schema->name);
    node->set_schema(schema);
    node->set_overload(schema->overload);
    if (promoted) node->set_attribute("inplace", {std::int64_t{1}});
    if (!boolean) return finish(node, target, node->output());
    ir::Value* inputs[] = {node->output(), target};
    ir::Node* cast = build(node, "aten::type_as", inputs);
    node->move_before(cast);
    writes_.replace_later_uses(*node, target, cast->output());
    return true;
  }

  ir::Graph& graph_;
  const schema::Registry& registry_;
  Writes writes_;
};

}  // namespace

std::size_t functionalize_writes(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry) {
  use_written_itself(graph);
  return Functionalizer(graph, program, registry).run();
}

std::vector<UnresolvedWrite> unresolved_writes(const ir::Graph& graph, const ir::Program* program) {
  Writes writes(graph, program);
  std::vector<UnresolvedWrite> unresolved;
  for (ir::Node* node : writes.all()) {
    std::string why = writes.obstacle(*node);
    if (why.empty()) why = "has no form that leaves its argument as it is";
    unresolved.push_back({node, std::move(why)});
  }
  return unresolved;
}

}  // namespace compatcheck::passes
