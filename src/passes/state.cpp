#include "passes/state.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "passes/effects.h"
#include "passes/rewrite.h"
#include "passes/state_accesses.h"

namespace compatcheck::passes {
namespace {

using ir::TypeKind;
using Key = AttributeKey;

bool is_kept_list(const ir::TypeRef& type) {
  return ir::is(type, TypeKind::list) && (is_number(type->elements[0]) || ir::is(type->elements[0], TypeKind::tensor));
}

// Returns why a value can't be an input; empty if it can. With `lists`, a list of tensors or numbers can.
std::string obstacle_of(const ir::Constant& stored, const ir::TypeRef& declared, bool lists) {
  const ir::TypeRef& type = ir::without_optional(declared);
  if (stored.is_none())
    return "it holds None until a call writes it, and an input of ONNX has a value in every call (an empty tensor or a bool can "
           "say that nothing is there yet)";
  if (is_number(declared)) return {};
  if (lists && is_kept_list(type) && stored.get<ir::ListConstant>()) return {};
  const auto* view = stored.get<ir::TensorView>();
  if (!ir::is(type, TypeKind::tensor) || !view)
    return "its type is " + ir::to_string(*declared) +
           ", and only tensors, numbers, and lists, tuples and dictionaries of them become inputs and outputs";
  if (!view->storage) return "the file holds no value of it";
  if (!view->contiguous()) return "its elements don't lie in memory in the order of its sizes, as those of an input do";
  return {};
}

class State {
 public:
  State(ir::Graph& graph, const ir::Program& program, const ContainerDecisions& decided, const ir::Watch& watch)
      : graph_(graph), watch_(watch), decided_(decided), accesses_(graph, program, watch), cells_(accesses_.cells()) {}

  MadeState run() {
    const std::vector<Key> written = accesses_.written();
    std::vector<StateAttribute> made;
    for (const Key& key : written) find_obstacles(key);
    spread_obstacles(written);
    std::set<std::string> names;
    for (const ir::Value* input : graph_.inputs()) names.insert(input->name());
    for (const Key& key : written)
      if (cells_.at(key).obstacle.empty())
        add(key, made, names);
      else
        leave(cells_.at(key));
    MadeState result;
    for (const Key& key : written)
      if (const Accessed& cell = cells_.at(key); !cell.obstacle.empty()) result.refused.emplace(key, cell.obstacle);
    if (current_.empty()) return result;
    walk(*graph_.top());
    for (const Key& key : order_) graph_.top()->add_output(current_.at(key));
    result.attributes = std::move(made);
    return result;
  }

 private:
  void find_obstacles(const Key& key) {
    Accessed& cell = cells_.at(key);
    if (const auto known = decided_.refused.find(key); known != decided_.refused.end()) cell.obstacle = known->second;
    if (cell.obstacle.empty()) cell.obstacle = obstacle_of(*cell.stored, cell.type, decided_.lists.contains(key));
    if (cell.obstacle.empty() && accesses_.may_be_of_unknown_object(key))
      cell.obstacle = "an object that is known only when the model runs may hold it, too";
    for (const ir::Node* set : cell.sets) {
      if (!cell.obstacle.empty()) return;
      cell.obstacle = obstacle_of_set(*set, cell);
    }
    if (cell.obstacle.empty()) cell.obstacle = accesses_.sharing(key, cell);
  }

  static std::string obstacle_of_set(const ir::Node& set, const Accessed& cell) {
    if (std::string place = obstacle_of_place(set); !place.empty()) return place;
    const ir::TypeRef& type = set.input(1)->type();
    const bool fits = is_number(cell.type)                   ? type && type->kind == cell.type->kind
                      : cell.stored->get<ir::ListConstant>() ? type && ir::same_structure(*type, *ir::without_optional(cell.type))
                                                             : ir::is(type, TypeKind::tensor);
    return fits ? std::string() : "it may become a value of type " + (type ? ir::to_string(*type) : std::string("unknown"));
  }

  // A value that stays an attribute may not hold what became a value, and a write may reach several attributes.
  void spread_obstacles(const std::vector<Key>& written) {
    for (bool any = true; any;) {
      any = false;
      for (const Key& key : written) {
        Accessed& cell = cells_.at(key);
        if (!cell.obstacle.empty()) continue;
        for (const Key& other : written) {
          watch_.step();
          const Accessed& left = cells_.at(other);
          const bool tied = std::ranges::any_of(
              cell.writes, [&](const ir::Node* write) { return std::ranges::find(left.writes, write) != left.writes.end(); });
          if (left.obstacle.empty() || !tied) continue;
          cell.obstacle = "the same writes may reach attribute " + left.path + ", and " + left.obstacle;
          any = true;
          break;
        }
      }
    }
  }

  static void leave(const Accessed& cell) {
    for (const auto* nodes : {&cell.sets, &cell.writes, &cell.reads})
      for (ir::Node* node : *nodes)
        if (!node->attribute(state_obstacle))
          node->set_attribute(std::string(state_obstacle), {"the model writes attribute '" + cell.path +
                                                            "', which can't become an input and an output: " + cell.obstacle});
  }

  // ---- The graph's inputs

  void add(const Key& key, std::vector<StateAttribute>& made, std::set<std::string>& names) {
    const Accessed& cell = cells_.at(key);
    for (const Key& other : order_)  // another name of the same tensor
      if (cell.sets.empty() && cells_.at(other).sets.empty() && same_view(*cell.stored, *cells_.at(other).stored)) {
        same_as_.emplace(key, other);
        return;
      }
    StateAttribute attribute{.path = cell.path, .initial = *cell.stored, .input = cell.path, .output = cell.path + ".next"};
    // "xs.0" is a member of an input xs, as well.
    const auto clashes = [&](const std::string& name) {
      return std::ranges::any_of(names, [&](const std::string& other) {
        return other == name || name.starts_with(other + ".") || other.starts_with(name + ".");
      });
    };
    while (clashes(attribute.input)) attribute.input = "state." + attribute.input;
    ir::Value* input = graph_.top()->add_input(type_of_input(cell), attribute.input);
    current_.emplace(key, input);
    order_.push_back(key);
    made.push_back(std::move(attribute));
  }

  static ir::TypeRef type_of_members(const ir::ListConstant& list) {
    ir::TensorType type;
    for (const ir::Constant& item : list.items) {
      const auto* view = item.get<ir::TensorView>();
      if (!view || (type.dtype && *type.dtype != view->dtype)) return ir::tensor_type();
      if (!type.dtype) type.sizes.emplace(view->sizes.begin(), view->sizes.end());
      type.dtype = view->dtype;
      if (type.sizes && type.sizes->size() != view->sizes.size()) type.sizes.reset();
      for (std::size_t dim = 0; type.sizes && dim < view->sizes.size(); ++dim)
        if ((*type.sizes)[dim] != view->sizes[dim]) (*type.sizes)[dim].reset();
    }
    return ir::tensor_type(std::move(type));
  }

  // A value that is set may have any strides, so that nothing is known of them in the next call.
  static ir::TypeRef type_of_input(const Accessed& cell) {
    const auto* view = cell.stored->get<ir::TensorView>();
    if (const auto* list = cell.stored->get<ir::ListConstant>())
      return ir::is(list->element, TypeKind::tensor) ? ir::list_of(type_of_members(*list)) : ir::without_optional(cell.type);
    if (!view) return ir::without_optional(cell.type);
    ir::TensorType type{.dtype = view->dtype,
                        .sizes = std::vector<std::optional<std::int64_t>>(),
                        .strides = {},
                        .requires_grad = {},
                        .device = {}};
    type.sizes->assign(view->sizes.begin(), view->sizes.end());
    if (!cell.sets.empty()) type.strides.emplace(view->sizes.size(), std::nullopt);
    return ir::tensor_type(std::move(type));
  }

  // ---- Values instead of attributes

  std::optional<Key> state_of(const ir::Node& node) const {
    const auto* object = is_attribute_access(node) ? known<ir::ObjectConstant>(node.input(0)) : nullptr;
    if (!object) return std::nullopt;
    Key key{object->object, std::string(attribute_name(node))};
    if (const auto other = same_as_.find(key); other != same_as_.end()) key = other->second;
    return current_.contains(key) ? std::optional(std::move(key)) : std::nullopt;
  }

  std::vector<Key> set_inside(const ir::Node& node) const {
    std::set<Key> found;
    for (const ir::Block* block : node.blocks())
      ir::for_each_node(*block, [&](const ir::Node* inner) {
        watch_.step();
        if (inner->is("prim::SetAttr"))
          if (auto key = state_of(*inner)) found.insert(*std::move(key));
      });
    return {found.begin(), found.end()};
  }

  ir::TypeRef plain_type(const Key& key) const {
    const ir::TypeRef& type = cells_.at(key).type;
    if (is_number(type)) return type;
    return cells_.at(key).stored->get<ir::ListConstant>() ? ir::without_optional(type) : ir::tensor_type();
  }

  void walk(ir::Block& block) {
    std::vector<ir::Node*> nodes;
    for (ir::Node* node : block) nodes.push_back(node);
    for (ir::Node* node : nodes) {
      watch_.step();
      if (!node->blocks().empty())
        walk_inside(*node);
      else if (const auto key = state_of(*node))
        access(*node, *key);
    }
  }

  void access(ir::Node& node, const Key& key) {
    if (node.is("prim::GetAttr"))
      node.output()->replace_all_uses_with(current_.at(key));
    else
      current_.at(key) = node.input(1);
    node.erase();
  }

  void walk_inside(ir::Node& node) {
    const auto before = current_;
    const bool loops = node.is("prim::Loop");
    const std::vector<Key> keys = set_inside(node);
    for (ir::Block* block : node.blocks()) {
      current_ = before;
      if (loops)
        for (const Key& key : keys) {
          node.add_input(before.at(key));
          current_.at(key) = block->add_input(plain_type(key));
        }
      walk(*block);
      for (const Key& key : keys) block->add_output(current_.at(key));
    }
    current_ = before;
    for (const Key& key : keys) current_.at(key) = node.add_output(plain_type(key));
  }

  ir::Graph& graph_;
  const ir::Watch& watch_;
  const ContainerDecisions& decided_;
  StateAccesses accesses_;
  std::map<Key, Accessed>& cells_;
  std::vector<Key> order_;  // attributes that become inputs
  std::map<Key, Key> same_as_;
  std::map<Key, ir::Value*> current_;
};

}  // namespace

MadeState attributes_to_state(ir::Graph& graph, const ir::Program& program, const ContainerDecisions& decided,
                              const ir::Watch& watch) {
  return State(graph, program, decided, watch).run();
}

std::size_t drop_idle_state(ir::Graph& graph, std::vector<StateAttribute>& state) {
  std::size_t dropped = 0;
  ir::Block& top = *graph.top();
  bool writes_left = false;  // an in-place write is left, so the graph doesn't show what values hold
  ir::for_each_node(top, [&](const ir::Node* node) { writes_left = writes_left || writes(*node); });
  for (std::size_t i = state.size(); i-- > 0;) {
    const std::size_t input = graph.inputs().size() - state.size() + i, output = graph.outputs().size() - state.size() + i;
    ir::Value* before = graph.inputs()[input];
    const bool unchanged = !writes_left && graph.outputs()[output] == before;
    if (!unchanged && (writes_left || !before->unused())) continue;
    top.erase_output(output);
    if (!before->unused()) {
      ir::Node* constant = graph.create_constant(state[i].initial);
      if (!state[i].initial.get<ir::TensorView>()) constant->output()->set_type(before->type());
      top.prepend(constant);
      if (state[i].initial.get<ir::TensorView>()) constant->set_attribute("path", {state[i].path});
      before->replace_all_uses_with(constant->output());
    }
    top.erase_input(input);
    state.erase(state.begin() + static_cast<std::ptrdiff_t>(i));
    ++dropped;
  }
  return dropped;
}

}  // namespace compatcheck::passes
