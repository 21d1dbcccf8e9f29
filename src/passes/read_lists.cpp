// Lengths, items and parts of lists and dicts whose items are known.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/slice_places.h"
#include "passes/alias.h"
#include "passes/evaluate.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using Values = std::vector<ir::Value*>;

std::optional<std::size_t> position(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

class Reader {
 public:
  Reader(ir::Graph& graph, const ir::Program* program, Budget& budget, const ir::Watch& watch)
      : aliases_(graph, program, watch), budget_(budget) {}

  bool read(ir::Node* node) {
    if (node->inputs().empty() || node->outputs().empty()) return false;
    const auto& type = node->input(0)->type();
    if (ir::is(type, ir::TypeKind::list)) return read_list(node);
    if (ir::is(type, ir::TypeKind::dict)) return read_dict(node);
    if (ir::is(type, ir::TypeKind::tuple)) return read_constant_tuple(node);
    return false;
  }

 private:
  // ---- Lists

  bool read_list(ir::Node* node) {
    if (node->is("prim::ListUnpack")) return unpack(node);
    if (node->is("aten::len")) return give_length(node);
    if (node->is("aten::__getitem__")) return give_item(node);
    if (node->is("aten::slice")) return give_slice(node);
    if (node->is("aten::add")) return give_sum(node);
    if (node->is("aten::any") || node->is("aten::all")) return give_verdict(node);
    if (node->is("aten::list") || node->is("aten::copy")) return give_copy(node);
    return false;
  }

  // The items of a list made here that nothing changes.
  std::optional<std::span<ir::Value* const>> items(const ir::Value* list) {
    if (is_written(list)) return std::nullopt;
    const auto* constant = known<ir::ListConstant>(list);
    if (constant && constant->items.empty()) return std::span<ir::Value* const>();
    const ir::Node* made = list->producer();
    return made && made->is("prim::ListConstruct") ? std::optional(made->inputs()) : std::nullopt;
  }

  bool unpack(ir::Node* node) {
    if (const auto all = items(node->input(0))) {
      if (all->size() != node->outputs().size()) return false;
      for (std::size_t i = 0; i < all->size(); ++i) replace(node->output(i), (*all)[i]);
    } else {
      const auto* constant = known<ir::ListConstant>(node->input(0));
      if (!constant || constant->items.size() != node->outputs().size()) return false;
      if (is_written(node->input(0))) return false;
      for (std::size_t i = 0; i < constant->items.size(); ++i)
        replace(node->output(i), constant_before(node, constant->items[i]));
    }
    node->erase();
    return true;
  }

  bool give_length(ir::Node* node) {
    const auto all = items(node->input(0));
    return all && give(node, constant_before(node, {static_cast<std::int64_t>(all->size())}));
  }

  bool give_item(ir::Node* node) {
    const auto* index = known<std::int64_t>(node->input(1));
    const auto all = index ? items(node->input(0)) : std::nullopt;
    const auto at = all ? position(*index, all->size()) : std::nullopt;
    return at && give(node, (*all)[*at]);
  }

  // One True makes any, one False unmakes all, whatever the others are.
  bool give_verdict(ir::Node* node) {
    const auto all = items(node->input(0));
    if (!all || node->inputs().size() != 1) return false;
    const bool wanted = node->is("aten::any");
    const bool found = std::any_of(all->begin(), all->end(), [&](const ir::Value* item) {
      const bool* flag = known<bool>(item);
      return flag && *flag == wanted;
    });
    return found && give(node, constant_before(node, {wanted}));
  }

  bool give_slice(ir::Node* node) {
    if (node->inputs().size() != 4) return false;
    const auto* step = known<std::int64_t>(node->input(3));
    const auto all = step && *step != 0 ? items(node->input(0)) : std::nullopt;
    const ir::Constant *start = ir::constant_of(node->input(1)), *end = ir::constant_of(node->input(2));
    const auto is_bound = [](const ir::Constant* at) { return at && (at->is_none() || at->get<std::int64_t>()); };
    if (!all || !is_bound(start) || !is_bound(end)) return false;
    const auto bound = [](const ir::Constant* at) {
      return at->is_none() ? std::nullopt : std::optional(*at->get<std::int64_t>());
    };
    Values part;
    for (const std::int64_t i : ir::slice_places(static_cast<std::int64_t>(all->size()), bound(start), bound(end), *step))
      part.push_back((*all)[static_cast<std::size_t>(i)]);
    return give_list(node, part);
  }

  bool give_sum(ir::Node* node) {
    if (node->inputs().size() != 2) return false;
    const auto all = items(node->input(0)), more = items(node->input(1));
    if (!all || !more || all->size() + more->size() > most_items) return false;
    Values both(all->begin(), all->end());
    both.insert(both.end(), more->begin(), more->end());
    return give_list(node, both);
  }

  bool give_copy(ir::Node* node) {
    const auto all = items(node->input(0));
    return all && give_list(node, *all);
  }

  // ---- Dicts

  // Of a dict that is a constant, the values aren't nodes.
  struct Entry {
    const ir::Constant* key;
    ir::Value* key_node;
    ir::Value* node;
    const ir::Constant* constant;
  };

  // In order; every key a constant, the last of equal ones standing.
  std::optional<std::vector<Entry>> entries(const ir::Value* dict) {
    if (is_written(dict)) return std::nullopt;
    std::vector<Entry> all;
    if (const ir::Node* made = dict->producer(); made && made->is("prim::DictConstruct")) {
      for (std::size_t i = 0; i + 1 < made->inputs().size(); i += 2) {
        const ir::Constant* key = ir::constant_of(made->input(i));
        if (!key) return std::nullopt;
        const auto same = std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return ir::equal(*entry.key, *key); });
        if (same != all.end())
          same->node = made->input(i + 1);
        else
          all.push_back({key, made->input(i), made->input(i + 1), nullptr});
      }
      return all;
    }
    const auto* constant = known<ir::DictConstant>(dict);
    if (!constant) return std::nullopt;
    for (const auto& [key, value] : constant->items) all.push_back({&key, nullptr, nullptr, &value});
    return all;
  }

  bool read_dict(ir::Node* node) {
    const bool keys = node->is("aten::keys");
    const bool values = node->is("aten::values");
    const bool pairs = node->is("aten::items");
    const bool by_key = node->is("aten::__getitem__") || node->is("aten::get") || node->is("aten::__contains__");
    if (!keys && !values && !pairs && !by_key && !node->is("aten::len")) return false;
    const ir::Constant* key = by_key ? ir::constant_of(node->input(1)) : nullptr;
    if (by_key && !key) return false;
    const auto all = entries(node->input(0));
    if (!all) return false;
    if (by_key) return give_entry(node, *all, *key);
    if (node->is("aten::len")) return give(node, constant_before(node, {static_cast<std::int64_t>(all->size())}));
    if (all->size() > budget_.listed) return false;
    Values list;
    for (const Entry& entry : *all)
      list.push_back(keys ? key_of(node, entry) : values ? value_of(node, entry) : pair(node, entry));
    return give_list(node, list);
  }

  static ir::Value* key_of(ir::Node* place, const Entry& entry) {
    return entry.key_node ? entry.key_node : constant_before(place, *entry.key);
  }

  static ir::Value* value_of(ir::Node* place, const Entry& entry) {
    return entry.node ? entry.node : constant_before(place, *entry.constant);
  }

  static ir::Value* pair(ir::Node* place, const Entry& entry) {
    ir::Value* parts[] = {key_of(place, entry), value_of(place, entry)};
    const ir::TypeRef type = ir::tuple_of({parts[0]->type(), parts[1]->type()});
    return node_before(place, "prim::TupleConstruct", parts, {&type, 1})->output();
  }

  bool give_entry(ir::Node* node, const std::vector<Entry>& all, const ir::Constant& key) {
    for (const Entry& entry : all)
      if (values_equal(*entry.key, key) == true)
        return give(node, node->is("aten::__contains__") ? constant_before(node, {true}) : value_of(node, entry));
    if (node->is("aten::__contains__")) return give(node, constant_before(node, {false}));
    if (!node->is("aten::get")) return false;  // raises
    return give(node, node->inputs().size() == 3 ? node->input(2) : constant_before(node, {}));
  }

  // ---- Tuples held by constants

  static bool read_constant_tuple(ir::Node* node) {
    const auto* tuple = known<ir::TupleConstant>(node->input(0));
    if (!tuple || !node->is("prim::TupleUnpack") || tuple->items.size() != node->outputs().size()) return false;
    for (std::size_t i = 0; i < tuple->items.size(); ++i) replace(node->output(i), constant_before(node, tuple->items[i]));
    node->erase();
    return true;
  }

  // ---- Results

  static bool give(ir::Node* node, ir::Value* value) {
    replace(node->output(), value);
    node->erase();
    return true;
  }

  // A new list, as the operator would make: it may be changed later without touching the one it came from.
  bool give_list(ir::Node* node, std::span<ir::Value* const> list) {
    if (!spend(budget_.listed, list.size())) return false;
    const ir::TypeRef type = node->output()->type();
    ir::Value* made = node_before(node, "prim::ListConstruct", list, {&type, 1})->output();
    if (is_written(node->output())) made_and_written_.insert(made);
    return give(node, made);
  }

  bool is_written(const ir::Value* value) const {
    return made_and_written_.contains(value) || (aliases_.any_writes() && aliases_.written(value));
  }

  Aliases aliases_;
  std::unordered_set<const ir::Value*> made_and_written_;  // what replaced a list that is written: no alias analysis knows it yet
  Budget& budget_;
};

}  // namespace

std::size_t read_lists(ir::Graph& graph, const ir::Program* program, Budget& budget, const ir::Watch& watch) {
  Reader reader(graph, program, budget, watch);
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch))
    if (reader.read(node)) ++changed;
  return changed;
}

}  // namespace compatcheck::passes
