#include "passes/state.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using ir::TypeKind;
using Key = std::pair<std::uint32_t, std::string>;  // an object and its attribute

// One attribute that the graph reads or writes.
struct Accessed {
  const ir::Constant* stored = nullptr;
  ir::TypeRef type;  // as declared
  std::string path;
  std::size_t place = 0;  // in the order of the module's attributes
  std::vector<ir::Node*> reads{}, sets{};
  std::vector<ir::Node*> writes{};  // in place, to memory that it may hold
  std::string obstacle{};
};

const ir::ObjectConstant* object_accessed(const ir::Node& access) { return known<ir::ObjectConstant>(access.input(0)); }

// The attributes of all objects that the root leads to, by the first path that leads there.
std::map<Key, Accessed> attributes_of(const ir::Program& program) {
  std::map<Key, Accessed> cells;
  std::set<std::uint32_t> seen;
  std::size_t places = 0;
  struct Visit {
    std::uint32_t object;
    std::string prefix;
    std::size_t next = 0;
  };
  std::vector<Visit> path;
  const auto enter = [&](std::uint32_t object, std::string prefix) {
    if (object < program.objects.size() && program.classes.contains(program.objects[object].class_name) &&
        seen.insert(object).second)
      path.push_back({object, std::move(prefix)});
  };
  enter(program.root, {});
  while (!path.empty()) {
    Visit& visit = path.back();
    const ir::Object& object = program.objects[visit.object];
    const auto& attributes = program.classes.at(object.class_name).attributes;
    if (visit.next >= std::min(attributes.size(), object.attributes.size())) {
      path.pop_back();
      continue;
    }
    const auto& declared = attributes[visit.next];
    const ir::Constant& value = object.attributes[visit.next++];
    const std::string name = visit.prefix + declared.name;
    if (const auto* inner = value.get<ir::ObjectConstant>())
      enter(inner->object, name + ".");
    else
      cells[{visit.object, declared.name}] = {.stored = &value, .type = declared.type, .path = name, .place = places++};
  }
  return cells;
}

// One view of the same memory.
bool same_view(const ir::Constant& one, const ir::Constant& other) {
  const auto *a = one.get<ir::TensorView>(), *b = other.get<ir::TensorView>();
  return a && b && a->storage == b->storage && a->offset == b->offset && a->sizes == b->sizes && a->strides == b->strides &&
         a->dtype == b->dtype;
}

// What can't be the value of an input; empty if it can.
std::string obstacle_of(const ir::Constant& stored, const ir::TypeRef& declared) {
  const ir::TypeRef& type = ir::without_optional(declared);
  if (stored.is_none()) return "it holds None until a call writes it, and an input of ONNX has a value in every call";
  if (is_number(declared)) return {};
  const auto* view = stored.get<ir::TensorView>();
  if (!ir::is(type, TypeKind::tensor) || !view)
    return "its type is " + ir::to_string(*declared) + ", and only tensors and numbers become inputs and outputs";
  if (!view->storage) return "the file holds no value of it";
  if (!view->contiguous()) return "its elements don't lie in memory in the order of its sizes, as those of an input do";
  return {};
}

class State {
 public:
  State(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch)
      : graph_(graph), watch_(watch), aliases_(graph, &program, watch), cells_(attributes_of(program)) {}

  std::vector<StateAttribute> run() {
    if (!aliases_.any_writes()) return {};
    find_accesses();
    std::vector<Key> written;
    for (auto& [key, cell] : cells_)
      if (!cell.sets.empty() || !cell.writes.empty()) written.push_back(key);
    std::ranges::sort(written, {}, [&](const Key& key) { return cells_.at(key).place; });
    std::vector<StateAttribute> made;
    for (const Key& key : written) find_obstacles(key);
    spread_obstacles(written);
    std::set<std::string> taken;
    for (const ir::Value* input : graph_.inputs()) taken.insert(input->name());
    for (const Key& key : written)
      if (cells_.at(key).obstacle.empty())
        add(key, made, taken);
      else
        leave(cells_.at(key));
    if (current_.empty()) return {};
    walk(*graph_.top());
    for (const Key& key : order_) graph_.top()->add_output(current_.at(key));
    return made;
  }

 private:
  void find_accesses() {
    ir::for_each_node(*graph_.top(), [&](ir::Node* node) {
      watch_.step();
      if (!is_attribute_access(*node)) return;
      const auto* object = object_accessed(*node);
      const auto cell = object ? cells_.find({object->object, std::string(attribute_name(*node))}) : cells_.end();
      if (cell != cells_.end())
        (node->is("prim::GetAttr") ? cell->second.reads : cell->second.sets).push_back(node);
      else if (!object && !(node->input(0)->producer() && node->input(0)->producer()->is("prim::CreateObject")))
        of_unknown_objects_.insert(std::string(attribute_name(*node)));
    });
    for (auto& [key, cell] : cells_)
      for (const LocationId id : memory_of(cell))
        for (ir::Node* write : aliases_.writers_of(id))
          if (!write->is("prim::SetAttr") && std::ranges::find(cell.writes, write) == cell.writes.end())
            cell.writes.push_back(write);
  }

  // The tensors that it may hold when it is read.
  std::vector<LocationId> memory_of(const Accessed& cell) const {
    if (cell.reads.empty() || !holds_memory(cell.type)) return {};
    return aliases_.reach(cell.reads.front()->output());
  }

  void find_obstacles(const Key& key) {
    Accessed& cell = cells_.at(key);
    cell.obstacle = obstacle_of(*cell.stored, cell.type);
    if (cell.obstacle.empty() && of_unknown_objects_.contains(key.second))
      cell.obstacle = "an object that is known only when the model runs may hold it, too";
    for (const ir::Node* set : cell.sets) {
      if (!cell.obstacle.empty()) return;
      cell.obstacle = obstacle_of_set(*set, cell);
    }
    if (cell.obstacle.empty()) cell.obstacle = sharing(key, cell);
  }

  static std::string obstacle_of_set(const ir::Node& set, const Accessed& cell) {
    for (const ir::Block* block = set.owner(); block->owner(); block = block->parent())
      if (!block->owner()->is("prim::If") && !block->owner()->is("prim::Loop"))
        return "it is written inside of " + block->owner()->op();
    const ir::TypeRef& type = set.input(1)->type();
    const bool fits = is_number(cell.type) ? type && type->kind == cell.type->kind : ir::is(type, TypeKind::tensor);
    return fits ? std::string() : "it may become a value of type " + (type ? ir::to_string(*type) : std::string("unknown"));
  }

  // The next call gets the value alone: nothing that it writes in place may be the memory of something else that the model, or
  // its caller, still holds.
  std::string sharing(const Key& key, const Accessed& cell) {
    for (const LocationId id : memory_of(cell)) {
      if (aliases_.writers_of(id).empty()) continue;
      const MemoryLocation& location = aliases_.location(id);
      if (location.kind == MemoryLocation::Kind::anything) return "more values share its memory than can be followed";
      if (location.kind == MemoryLocation::Kind::input)
        return "it may hold input " + location.name + " itself, which a later call would write";
      for (const ir::Value* observer : aliases_.observers(id)) {
        watch_.step();
        const ir::Node* maker = observer->producer();
        if (!maker) continue;
        if (maker->is("prim::Constant") && !known<ir::ObjectConstant>(observer)) return "it shares memory with a constant";
        if (!maker->is("prim::GetAttr")) continue;
        const auto* object = object_accessed(*maker);
        const auto other = object ? cells_.find({object->object, std::string(attribute_name(*maker))}) : cells_.end();
        if (other == cells_.end()) {
          if (ir::is(observer->type(), TypeKind::named) || ir::is(observer->type(), TypeKind::module)) continue;
          return "it shares memory with an attribute of an object that is known only when the model runs";
        }
        if (other->first == key) continue;
        const bool one = cell.sets.empty() && other->second.sets.empty() && same_view(*cell.stored, *other->second.stored);
        if (!one) return "it shares memory with attribute " + other->second.path;
      }
    }
    return {};
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
    for (const auto* nodes : {&cell.sets, &cell.writes})
      for (ir::Node* node : *nodes)
        if (!node->attribute(state_obstacle))
          node->set_attribute(std::string(state_obstacle), {"the model writes attribute '" + cell.path +
                                                            "', which can't become an input and an output: " + cell.obstacle});
  }

  // ---- The graph's inputs

  void add(const Key& key, std::vector<StateAttribute>& made, std::set<std::string>& taken) {
    const Accessed& cell = cells_.at(key);
    for (const Key& other : order_)  // another name of the same tensor
      if (cell.sets.empty() && cells_.at(other).sets.empty() && same_view(*cell.stored, *cells_.at(other).stored)) {
        same_as_.emplace(key, other);
        return;
      }
    StateAttribute attribute{.path = cell.path, .initial = *cell.stored, .input = cell.path, .output = cell.path + ".next"};
    // "xs.0" is a member of an input xs, as well.
    const auto clashes = [&](const std::string& name) {
      return std::ranges::any_of(taken, [&](const std::string& other) {
        return other == name || name.starts_with(other + ".") || other.starts_with(name + ".");
      });
    };
    while (clashes(attribute.input)) attribute.input = "state." + attribute.input;
    ir::Value* input = graph_.top()->add_input(type_of_input(cell), attribute.input);
    current_.emplace(key, input);
    order_.push_back(key);
    made.push_back(std::move(attribute));
  }

  // What is set may have any strides, of which nothing is known then in the next call.
  static ir::TypeRef type_of_input(const Accessed& cell) {
    const auto* view = cell.stored->get<ir::TensorView>();
    if (!view) return cell.type;
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
    const auto* object = is_attribute_access(node) ? object_accessed(node) : nullptr;
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
    return is_number(type) ? type : ir::tensor_type();
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
  Aliases aliases_;
  std::map<Key, Accessed> cells_;
  std::set<std::string> of_unknown_objects_;
  std::vector<Key> order_;  // of those that become inputs
  std::map<Key, Key> same_as_;
  std::map<Key, ir::Value*> current_;
};

}  // namespace

std::vector<StateAttribute> attributes_to_state(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch) {
  return State(graph, program, watch).run();
}

std::size_t drop_idle_state(ir::Graph& graph, std::vector<StateAttribute>& state) {
  std::size_t dropped = 0;
  ir::Block& top = *graph.top();
  bool writes_left = false;  // what is written in place is another value than the graph says
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
