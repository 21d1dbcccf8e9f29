// Local dictionaries to which a loop of unknown length adds keys: each key becomes a list of one Optional, None where the
// dictionary hasn't the key. The container walk carries such a list through the loop as a bool and a value.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/text.h"
#include "passes/assertions.h"
#include "passes/key_course.h"
#include "passes/loops.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

constexpr std::size_t most_keys = 256;

bool takes_key(const ir::Node& node) {
  return node.is("aten::_set_item") || node.is("aten::__getitem__") || node.is("aten::__contains__") || node.is("aten::get") ||
         node.is("aten::pop") || node.is("aten::Delete");
}

class Dictionary {
 public:
  Dictionary(ir::Node* made, std::string_view exception) : made_(made), block_(made->owner()), exception_(exception) {}

  // Whether each use of it names a constant key, and a loop adds one.
  bool find_uses() {
    const ir::TypeRef& type = made_->output()->type();
    if (!ir::is(type, ir::TypeKind::dict) || !(ir::is(type->elements[1], ir::TypeKind::tensor) || is_number(type->elements[1])))
      return false;
    for (std::size_t i = 0; i + 1 < made_->inputs().size(); i += 2)
      if (const ir::Constant* key = ir::constant_of(made_->input(i)); !key || !add_key(*key)) return false;
    const std::size_t initial = made_->inputs().size() / 2;
    if (keys_.size() != initial) return false;
    for (const ir::Use& use : made_->output()->uses()) {
      ir::Node* user = use.user;
      if (takes_key(*user) && use.operand == 0 && user->inputs().size() > 1) {
        const ir::Constant* key = ir::constant_of(user->input(1));
        if (!key || !add_key(*key)) return false;
        grows_ = grows_ || (user->is("aten::_set_item") && place_of(*key) >= initial && in_loop(user));
        accesses_.push_back(user);
      } else if (user->is("aten::len") && user->inputs().size() == 1) {
        accesses_.push_back(user);
      } else if (reads_whole(use)) {
        readers_.push_back(use);
      } else {
        return false;
      }
    }
    if (!grows_ || keys_.size() > most_keys) return false;
    std::vector<ir::Node*> keyed;
    std::ranges::copy_if(accesses_, std::back_inserter(keyed), [](const ir::Node* node) { return !node->is("aten::len"); });
    const auto is_this = [this](const ir::Value* value) { return value == made_->output(); };
    course_.emplace(*made_->graph(), is_this, std::move(keyed),
                    std::vector(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(initial)), block_);
    return readers_.empty() || readers_see_all();
  }

  void divide() {
    make_slots();
    for (const ir::Use& use : readers_) use.user->replace_input(use.operand, whole_before(use.user));
    std::unordered_set<const ir::Node*> checked;
    for (const ir::Node* access : accesses_)
      if (!access->is("aten::len") && course_->is_there(access)) checked.insert(access);
    for (ir::Node* access : accesses_) {
      replace_access(access, checked.contains(access));
      access->erase();
    }
    made_->erase();
  }

 private:
  bool add_key(const ir::Constant& key) {
    if (!key.get<std::string>() && !key.get<std::int64_t>()) return false;
    if (place_of(key) == keys_.size()) keys_.push_back(key);
    return true;
  }
  std::size_t place_of(const ir::Constant& key) const {
    return static_cast<std::size_t>(
        std::ranges::find_if(keys_, [&](const ir::Constant& other) { return ir::equal(key, other); }) - keys_.begin());
  }

  // The model returns it, or only its members are read: nothing else holds it.
  static bool reads_whole(const ir::Use& use) {
    const ir::Node& user = *use.user;
    const auto returns = [](const ir::Node& node) { return &node == node.graph()->top()->return_node(); };
    if (user.is("prim::TupleConstruct"))
      return std::ranges::all_of(user.output()->uses(), [&](const ir::Use& of_tuple) { return returns(*of_tuple.user); });
    return returns(user) || user.is("aten::keys") || user.is("aten::values") || user.is("aten::items");
  }

  bool in_loop(const ir::Node* node) const {
    for (const ir::Block* block = node->owner(); block != block_; block = block->owner()->owner())
      if (block->owner()->is("prim::Loop")) return true;
    return false;
  }

  // What reads it whole comes behind all writes, when every key is there: set in each run of the program, in one order.
  bool readers_see_all() {
    std::size_t last = 0;
    for (const ir::Node* access : accesses_) {
      if (KeyCourse::removes(*access)) return false;
      if (access->is("aten::_set_item")) last = std::max(last, *course_->order().of(access));
    }
    for (const ir::Use& use : readers_)
      if (use.user->owner() != block_ || *course_->order().of(use.user) < last) return false;
    std::vector<bool> there(keys_.size());
    for (std::size_t i = 0; i < made_->inputs().size() / 2; ++i) {
      there[i] = true;
      order_.push_back(i);
    }
    bool sure = true;
    const auto look = [&](const ir::Node* node, bool always) {
      if (!course_->sets(*node)) return;
      const std::size_t key = place_of(*ir::constant_of(node->input(1)));
      if (there[key]) return;
      sure = sure && always;
      there[key] = true;
      order_.push_back(key);
    };
    for (const ir::Node* node : *block_) {
      look(node, true);
      const bool runs = node->is("prim::Loop") && runs_at_least_once(*node);
      for (const ir::Block* inner : node->blocks()) look_in(*inner, runs, look);
    }
    return sure && std::ranges::find(there, false) == there.end();
  }
  template <class Look>
  static void look_in(const ir::Block& block, bool always, Look& look) {
    for (const ir::Node* node : block) {
      look(node, always);
      for (const ir::Block* inner : node->blocks()) look_in(*inner, false, look);
    }
  }

  // ---- What stands for it

  void make_slots() {
    const ir::TypeRef item = ir::optional_of(made_->output()->type()->elements[1]), list = ir::list_of(item);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      ir::Value* first = 2 * i < made_->inputs().size() ? made_->input(2 * i + 1) : constant_before(made_, {});
      slots_.push_back(node_before(made_, "prim::ListConstruct", {&first, 1}, {&list, 1})->output());
    }
  }

  ir::Value* read(std::size_t key, ir::Node* place) {
    ir::Value* inputs[] = {slots_[key], constant_before(place, {std::int64_t{0}})};
    return node_before(place, "aten::__getitem__", inputs, {&slots_[key]->type()->elements[0], 1})->output();
  }
  void set(std::size_t key, ir::Value* value, ir::Node* place) {
    ir::Value* inputs[] = {slots_[key], constant_before(place, {std::int64_t{0}}), value};
    node_before(place, "aten::_set_item", inputs, {&slots_[key]->type(), 1});
  }
  ir::Value* is_there(ir::Value* item, ir::Node* place) {
    ir::Value* inputs[] = {item, constant_before(place, {})};
    const ir::TypeRef boolean = ir::simple_type(ir::TypeKind::boolean);
    return node_before(place, "aten::__isnot__", inputs, {&boolean, 1})->output();
  }
  ir::Value* refined(ir::Value* item, ir::Node* place) {
    return node_before(place, "prim::unchecked_cast", {&item, 1}, {&made_->output()->type()->elements[1], 1})->output();
  }

  ir::Value* whole_before(ir::Node* place) {
    std::vector<ir::Value*> inputs;
    for (const std::size_t key : order_) {
      inputs.push_back(constant_before(place, keys_[key]));
      inputs.push_back(refined(read(key, place), place));
    }
    return node_before(place, "prim::DictConstruct", inputs, {&made_->output()->type(), 1})->output();
  }

  // PyTorch raises KeyError if the key isn't there.
  void demand(ir::Value* item, ir::Node* place) {
    ir::Value* there = is_there(item, place);
    ir::Node* branch = node_before(place, "prim::If", {&there, 1}, {});
    branch->add_block();
    ir::Block* raises = branch->add_block();
    const std::string key = ir::print(*ir::constant_of(place->input(1)));
    raise_before(raises->return_node(), exception_, "KeyError: " + key, {}, *place);
  }

  void replace_access(ir::Node* node, bool checked) {
    if (node->is("aten::len")) {
      count(node);
    } else {
      const std::size_t key = place_of(*ir::constant_of(node->input(1)));
      if (node->is("aten::_set_item"))
        set(key, node->input(2), node);
      else if (node->is("aten::__contains__"))
        replace(node->output(), is_there(read(key, node), node));
      else if (node->inputs().size() > 2)
        take_or_default(node, key);
      else if (node->is("aten::get"))
        replace(node->output(), read(key, node));
      else
        take(node, key, checked);
    }
  }

  // d[key], d.pop(key), del d[key]
  void take(ir::Node* node, std::size_t key, bool checked) {
    ir::Value* item = read(key, node);
    if (!checked) demand(item, node);
    if (!node->outputs().empty()) replace(node->output(), refined(item, node));
    if (!node->is("aten::__getitem__")) set(key, constant_before(node, {}), node);
  }

  // d.get(key, default), d.pop(key, default)
  void take_or_default(ir::Node* node, std::size_t key) {
    ir::Value* item = read(key, node);
    ir::Value* there = is_there(item, node);
    ir::Node* branch = node_before(node, "prim::If", {&there, 1}, {&made_->output()->type()->elements[1], 1});
    ir::Block* found = branch->add_block();
    found->add_output(refined(item, found->return_node()));
    branch->add_block()->add_output(node->input(2));
    replace(node->output(), branch->output());
    if (node->is("aten::pop")) set(key, constant_before(node, {}), node);
  }

  void count(ir::Node* node) {
    const ir::TypeRef integer = ir::simple_type(ir::TypeKind::integer);
    ir::Value* sum = constant_before(node, {std::int64_t{0}});
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      ir::Value* there = is_there(read(key, node), node);
      ir::Value* inputs[] = {sum, node_before(node, "aten::Int", {&there, 1}, {&integer, 1})->output()};
      sum = node_before(node, "aten::add", inputs, {&integer, 1})->output();
    }
    replace(node->output(), sum);
  }

  ir::Node* made_;
  ir::Block* block_;
  std::string exception_;  // the operator that raises
  std::optional<KeyCourse> course_;
  std::vector<ir::Constant> keys_;
  std::vector<ir::Node*> accesses_;
  std::vector<ir::Use> readers_;
  std::vector<std::size_t> order_;  // of the keys, where it is read whole
  std::vector<ir::Value*> slots_;
  bool grows_ = false;
};

}  // namespace

bool may_lack_keys(const ir::Graph& graph) {
  bool may = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (node->inputs().empty() || !ir::is(node->input(0)->type(), ir::TypeKind::dict)) return;
    may =
        may || node->is("aten::__getitem__") || node->is("aten::Delete") || (node->is("aten::pop") && node->inputs().size() == 2);
    if (!node->is("aten::_set_item")) return;
    for (const ir::Node* owner = node->owner()->owner(); owner; owner = owner->owner()->owner())
      may = may || owner->is("prim::Loop");
  });
  return may;
}

std::size_t divide_dictionaries(ir::Graph& graph, const schema::Registry& registry, bool keep_assertions,
                                const ir::Watch& watch) {
  std::size_t divided = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::DictConstruct")) continue;
    Dictionary dictionary(node, keep_assertions ? kept_exception : "prim::RaiseException");
    if (!dictionary.find_uses()) continue;
    dictionary.divide();
    ++divided;
  }
  if (divided > 0) schema::resolve(graph, registry);
  return divided;
}

}  // namespace compatcheck::passes
