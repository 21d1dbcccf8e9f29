// Nodes that compute nothing: prints, type refinements, devices, assertions.
#include <algorithm>

#include "ir/control_flow.h"
#include "passes/assertions.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool is_cuda(const std::string& device) { return device.starts_with("cuda"); }

// A device given as text: torch.device("cuda:0").
bool names_device(const ir::Value* value) {
  const auto uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [](const ir::Use& use) { return use.user->is("aten::device"); });
}

// The refined type says no more than the value's own type does.
bool adds_nothing(const ir::Value* from, const ir::Value* to) {
  if (!from->type() || !to->type()) return false;
  if (ir::same_structure(*from->type(), *to->type())) return true;
  using enum ir::TypeKind;
  const auto kind = from->type()->kind;
  if (kind == optional || kind == any || kind == union_of || kind == none) return false;
  // To an optional, a union, an interface or a wider type: the value is what it is.
  return to->type()->kind == optional || to->type()->kind == any || to->type()->kind == union_of || kind == to->type()->kind;
}

constexpr std::string_view plain_exception = "prim::RaiseException";

bool is_exception(const ir::Node& node) { return node.is(plain_exception) || node.is(kept_exception); }

// Whether every run of the block ends in an exception.
bool only_raises(const ir::Block& block) {
  for (const ir::Node* node : block) {
    if (is_exception(*node)) return true;
    if (node->is("prim::If") && std::ranges::all_of(node->blocks(), [](const ir::Block* way) { return only_raises(*way); }))
      return true;
  }
  return false;
}

}  // namespace

const ir::Block* raising_block(const ir::Node& node) {
  if (!node.is("prim::If")) return nullptr;
  const ir::IfView branch(node);
  const bool first = only_raises(branch.then_block());
  return first == only_raises(branch.else_block()) ? nullptr : &branch.block_if(first);
}

namespace {

void add_assertions(const ir::Block& block, std::vector<const ir::Node*>& raising) {
  for (const ir::Node* node : block) {
    if (is_exception(*node)) raising.push_back(node);  // raises whenever the block runs
    const ir::Block* raises = raising_block(*node);
    for (const ir::Block* inner : node->blocks()) {
      if (inner != raises) {
        add_assertions(*inner, raising);
        continue;
      }
      ir::for_each_node(*inner, [&](const ir::Node* candidate) {
        if (is_exception(*candidate)) raising.push_back(candidate);
      });
    }
  }
}

bool rename(ir::Graph& graph, std::string_view from, std::string_view to) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](ir::Node* node) {
    if (!node->is(from)) return;
    node->set_op(std::string(to));
    any = true;
  });
  return any;
}

}  // namespace

std::size_t devices_to_cpu(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::Constant")) continue;
    const ir::Constant* value = ir::constant_of(node->output());
    if (const auto* device = value->get<ir::DeviceConstant>(); device && is_cuda(device->device)) {
      node->set_attribute("value", {ir::DeviceConstant{"cpu"}});
      ++changed;
    } else if (const auto* text = value->get<std::string>(); text && is_cuda(*text) && names_device(node->output())) {
      node->set_attribute("value", {std::string("cpu")});
      ++changed;
    }
  }
  return changed;
}

std::size_t drop_remarks(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t dropped = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (node->is("prim::profile") && node->inputs().size() == 1 && node->outputs().size() == 1) {
      replace(node->output(), node->input(0));
      node->erase();
    } else if (is_remark(*node) && erase_if_unused(node)) {
      ++dropped;
    }
  }
  return dropped;
}

std::size_t drop_type_refinements(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t dropped = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    const bool refines = node->is("prim::unchecked_cast") || node->is("prim::annotate") || node->is("aten::_unwrap_optional") ||
                         node->is("prim::unchecked_unwrap_optional");
    if (!refines || node->inputs().size() != 1 || !adds_nothing(node->input(0), node->output())) continue;
    replace(node->output(), node->input(0));
    node->erase();
    ++dropped;
  }
  return dropped;
}

// A model that raises returns nothing, so for every input with a result the other branch ran.
std::size_t drop_assertions(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t dropped = 0;
  // Inner ones first: a branch of nothing but dropped assertions is empty.
  for (ir::Node* node : all_nodes_backwards(graph, watch)) {
    const ir::Block* raises = raising_block(*node);
    if (!raises) continue;
    const ir::IfView branch(*node);
    take_block(node, branch.block_if(raises != &branch.then_block()));
    ++dropped;
  }
  return dropped;
}

bool keep_exceptions(ir::Graph& graph) { return rename(graph, plain_exception, kept_exception); }

bool release_exceptions(ir::Graph& graph) { return rename(graph, kept_exception, plain_exception); }

std::vector<const ir::Node*> assertions(const ir::Graph& graph) {
  std::vector<const ir::Node*> raising;
  add_assertions(*graph.top(), raising);
  return raising;
}

}  // namespace compatcheck::passes
