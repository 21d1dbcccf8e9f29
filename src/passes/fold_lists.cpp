// A list or dict that is made and changed in one block, and that nothing else can get hold of, is made again with its
// items of the moment wherever it is read.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/order.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

using Values = std::vector<ir::Value*>;

std::optional<std::int64_t> index_of(const ir::Value* value, std::size_t size) {
  const auto* index = known<std::int64_t>(value);
  if (!index) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = *index < 0 ? *index + count : *index;
  return at >= 0 && at < count ? std::optional(at) : std::nullopt;
}

// The items of a container at one moment; of a dict, keys and values in turn.
class Contents {
 public:
  Contents(Values items, bool dict) : items_(std::move(items)), dict_(dict) {
    if (dict_ && are_keys_known()) keep_last_of_equal_keys();
  }

  const Values& items() const { return items_; }

  // What `change` makes of the items. False if that isn't known; `taken` is what pop returns.
  bool apply(const ir::Node& change, const Aliases& aliases, ir::Value*& taken) {
    if (change.is("aten::clear")) return items_.clear(), true;
    return dict_ ? apply_to_dict(change, aliases, taken) : apply_to_list(change, aliases, taken);
  }

 private:
  bool apply_to_list(const ir::Node& change, const Aliases& aliases, ir::Value*& taken) {
    const auto inputs = change.inputs();
    if (change.is("aten::append") && inputs.size() == 2) return items_.push_back(inputs[1]), true;
    if ((change.is("aten::extend") || change.is("aten::add_")) && inputs.size() == 2) return extend(inputs[1], aliases);
    if (change.is("aten::reverse")) return std::reverse(items_.begin(), items_.end()), true;
    if (change.is("aten::insert") && inputs.size() == 3) {
      const auto* index = known<std::int64_t>(inputs[1]);
      if (!index) return false;
      const auto size = static_cast<std::int64_t>(items_.size());
      items_.insert(items_.begin() + std::clamp<std::int64_t>(*index < 0 ? *index + size : *index, 0, size), inputs[2]);
      return true;
    }
    if (inputs.size() < 2) return false;
    const auto at = index_of(inputs[1], items_.size());
    if (!at) return false;
    if (change.is("aten::_set_item") && inputs.size() == 3) return items_[static_cast<std::size_t>(*at)] = inputs[2], true;
    if (!change.is("aten::pop") && !change.is("aten::Delete")) return false;
    taken = items_[static_cast<std::size_t>(*at)];
    items_.erase(items_.begin() + *at);
    return true;
  }

  bool extend(const ir::Value* other, const Aliases& aliases) {
    const ir::Node* made = other->producer();
    if (!made || !made->is("prim::ListConstruct") || aliases.written(other)) return false;
    items_.insert(items_.end(), made->inputs().begin(), made->inputs().end());
    return true;
  }

  bool update(const ir::Value* other, const Aliases& aliases) {
    const ir::Node* made = other->producer();
    if (!made || !made->is("prim::DictConstruct") || aliases.written(other)) return false;
    for (std::size_t i = 0; i < made->inputs().size(); i += 2)
      if (!ir::constant_of(made->input(i)) || !set(made->input(i), made->input(i + 1))) return false;
    return true;
  }

  bool are_keys_known() const {
    for (std::size_t i = 0; i < items_.size(); i += 2)
      if (!ir::constant_of(items_[i])) return false;
    return true;
  }

  void keep_last_of_equal_keys() {
    Values given;
    given.swap(items_);
    for (std::size_t i = 0; i + 1 < given.size(); i += 2) set(given[i], given[i + 1]);
  }

  std::size_t place_of(const ir::Constant& key) const {
    std::size_t at = 0;
    while (at < items_.size() && !ir::equal(*ir::constant_of(items_[at]), key)) at += 2;
    return at;
  }

  bool set(ir::Value* key, ir::Value* value) {
    if (!are_keys_known()) return false;
    const std::size_t at = place_of(*ir::constant_of(key));
    if (at == items_.size())
      items_.insert(items_.end(), {key, value});
    else
      items_[at + 1] = value;
    return true;
  }

  bool apply_to_dict(const ir::Node& change, const Aliases& aliases, ir::Value*& taken) {
    if (change.is("aten::update") && change.inputs().size() == 2) return update(change.input(1), aliases);
    const ir::Constant* key = change.inputs().size() > 1 ? ir::constant_of(change.input(1)) : nullptr;
    if (!key || !are_keys_known()) return false;
    if (change.is("aten::_set_item") && change.inputs().size() == 3) return set(change.input(1), change.input(2));
    const std::size_t at = place_of(*key);
    if (at == items_.size() || (!change.is("aten::Delete") && !(change.is("aten::pop") && change.inputs().size() == 2)))
      return false;
    taken = items_[at + 1];
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at), items_.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    return true;
  }

  Values items_;
  bool dict_;
};

bool is_container(const ir::Value* value) {
  return ir::is(value->type(), ir::TypeKind::list) || ir::is(value->type(), ir::TypeKind::dict);
}

// append and its like return the list itself. Returns whether there are any such.
bool use_list_itself(const ir::Graph& graph) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    const schema::Schema* schema = node->schema();
    if (!schema || node->inputs().empty() || schema->arguments.empty() || !schema->arguments[0].written ||
        !is_container(node->input(0)))
      return;
    any = true;
    if (gives_what_it_writes(*node)) node->output()->replace_all_uses_with(node->input(0));
  });
  return any;
}

// dict() and list() of nothing are {} and [].
std::size_t plain_constructs(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t made = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    const bool dict = node->is("aten::dict");
    if (!(dict || node->is("aten::list")) || !node->inputs().empty() || node->outputs().size() != 1 ||
        !is_container(node->output()))
      continue;
    ir::Node* instead = graph.create(dict ? "prim::DictConstruct" : "prim::ListConstruct");
    instead->add_output(node->output()->type());
    instead->copy_origin(*node);
    instead->insert_before(node);
    node->output()->replace_all_uses_with(instead->output());
    node->erase();
    ++made;
  }
  return made;
}

class Folder {
 public:
  Folder(ir::Graph& graph, const ir::Program* program, Budget& budget, const ir::Watch& watch)
      : order_(graph), aliases_(graph, program, watch), budget_(budget), watch_(watch) {}

  // dict([(k, v), (l, w)]).
  bool pair_up(ir::Node* dict) {
    const ir::Node* list = dict->input(0)->producer();
    if (!list || !list->is("prim::ListConstruct") || list->inputs().empty() || aliases_.written(dict->input(0))) return false;
    Values items;
    for (const ir::Value* pair : list->inputs()) {
      const ir::Node* made = pair->producer();
      if (!made || !made->is("prim::TupleConstruct") || made->inputs().size() != 2) return false;
      items.insert(items.end(), made->inputs().begin(), made->inputs().end());
    }
    ir::Node* instead = dict->graph()->create("prim::DictConstruct", items);
    instead->add_output(dict->output()->type());
    instead->copy_origin(*dict);
    instead->insert_before(dict);
    dict->output()->replace_all_uses_with(instead->output());
    dict->erase();
    return true;
  }

  // d.update({}).
  bool drop(ir::Node* update) {
    const ir::Node* other = update->input(1)->producer();
    if (!other || !other->is("prim::DictConstruct") || !other->inputs().empty() || aliases_.written(update->input(1)))
      return false;
    update->erase();
    return true;
  }

  bool fold(ir::Node* made) {
    if (made->inputs().size() > most_items || !stays_here(*made)) return false;
    std::vector<ir::Use> uses(made->output()->uses().begin(), made->output()->uses().end());
    std::sort(uses.begin(), uses.end(), [&](const ir::Use& a, const ir::Use& b) {
      return std::pair(order_.of(a.user), a.operand) < std::pair(order_.of(b.user), b.operand);
    });
    // Writers of the list's memory have it as their first operand, as stays_here() has seen.
    const auto writers = aliases_.writers_of(aliases_.locations(made->output())[0]);
    const Changing changing(writers.begin(), writers.end());
    // l.append(l), l.extend(l): a change that reads what it changes.
    for (const ir::Use& use : uses)
      if (use.operand != 0 && changing.contains(use.user)) return false;
    if (!known_throughout(*made, uses, changing)) return false;
    rebuild(made, uses, changing);
    return true;
  }

 private:
  using Changing = std::unordered_set<const ir::Node*>;

  // Only this value leads to the memory, and only nodes beside the maker write it.
  bool stays_here(const ir::Node& made) {
    const auto own = aliases_.locations(made.output());
    if (own.size() != 1 || aliases_.location(own[0]).maker != &made) return false;
    const auto writers = aliases_.writers_of(own[0]);
    if (writers.empty()) return false;
    for (const ir::Node* writer : writers)
      if (writer->owner() != made.owner() || writer->input(0) != made.output()) return false;
    for (const ir::Value* observer : aliases_.observers(own[0]))
      if (observer != made.output() && !observer->unused()) return false;
    return true;
  }

  // And not too long to be made again for each reader after a change.
  bool known_throughout(const ir::Node& made, std::span<const ir::Use> uses, const Changing& changing) {
    Contents contents({made.inputs().begin(), made.inputs().end()}, made.is("prim::DictConstruct"));
    std::size_t listed = 0;
    bool current = true;
    for (const ir::Use& use : uses) {
      watch_.step();
      const bool changes = changing.contains(use.user);
      ir::Value* taken = nullptr;
      if (changes && (!contents.apply(*use.user, aliases_, taken) || contents.items().size() > most_items)) return false;
      if (!changes && !current) listed += contents.items().size();
      current = !changes;
    }
    return spend(budget_.listed, listed);
  }

  void rebuild(ir::Node* made, std::span<const ir::Use> uses, const Changing& changing) {
    Contents contents({made->inputs().begin(), made->inputs().end()}, made->is("prim::DictConstruct"));
    ir::Value* current = made->output();
    for (const ir::Use& use : uses) {
      if (changing.contains(use.user)) {
        ir::Value* taken = nullptr;
        contents.apply(*use.user, aliases_, taken);
        if (taken && !use.user->outputs().empty()) replace(use.user->output(), taken);
        current = nullptr;
        continue;
      }
      if (!current) current = construct(*made, contents.items(), beside(use.user, made->owner()));
      use.user->replace_input(use.operand, current);
    }
    for (const ir::Use& use : uses)
      if (changing.contains(use.user)) use.user->erase();
  }

  // The node of `block` in which `node` stands, be it nested.
  static ir::Node* beside(ir::Node* node, const ir::Block* block) {
    while (node->owner() != block) node = node->owner()->owner();
    return node;
  }

  ir::Value* construct(const ir::Node& made, const Values& items, ir::Node* place) {
    ir::Node* node = made.graph()->create(made.op(), items);
    node->add_output(made.output()->type());
    node->copy_origin(made);
    node->insert_before(place);
    aliases_.add(node->output(), made.output());
    return node->output();
  }

  Order order_;
  Aliases aliases_;
  Budget& budget_;
  const ir::Watch& watch_;
};

}  // namespace

std::size_t fold_lists(ir::Graph& graph, const ir::Program* program, Budget& budget, const ir::Watch& watch) {
  std::size_t folded = plain_constructs(graph, watch);
  const bool any_changes = use_list_itself(graph);
  std::vector<ir::Node*> candidates, wholes;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (node->is("prim::ListConstruct") || node->is("prim::DictConstruct")) candidates.push_back(node);
    if (node->is("aten::update") && node->inputs().size() == 2 && node->outputs().empty()) wholes.push_back(node);
    if (node->is("aten::dict") && node->inputs().size() == 1 && is_container(node->output())) wholes.push_back(node);
  }
  if (!wholes.empty()) {  // the folder of what follows has to know what these leave
    Folder folder(graph, program, budget, watch);
    for (ir::Node* node : wholes) folded += node->is("aten::dict") ? folder.pair_up(node) : folder.drop(node);
  }
  if (!any_changes) return folded;
  Folder folder(graph, program, budget, watch);
  for (ir::Node* node : candidates)
    if (folder.fold(node)) ++folded;
  return folded;
}

}  // namespace compatcheck::passes
