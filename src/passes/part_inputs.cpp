#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "passes/order.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using Keys = std::vector<std::string>;

void add_once(Keys& keys, std::string key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
}

// Of "name.key", "name.key.more".
Keys told_keys(const std::string& name, const std::vector<std::string>& told) {
  Keys keys;
  for (const std::string_view text : told)
    if (text.starts_with(name + ".")) {
      const std::string_view rest = text.substr(name.size() + 1);
      add_once(keys, std::string(rest.substr(0, rest.find('.'))));
    }
  return keys;
}

// What a dictionary is asked for, in the model's order; nullopt if more is done with it.
std::optional<Keys> asked_keys(const ir::Graph& graph, const ir::Value* dict) {
  const Order order(graph);
  std::vector<ir::Use> uses(dict->uses().begin(), dict->uses().end());
  std::sort(uses.begin(), uses.end(), [&](const ir::Use& a, const ir::Use& b) { return order.of(a.user) < order.of(b.user); });
  Keys keys;
  for (const ir::Use& use : uses) {
    const auto* key = use.user->is("aten::__getitem__") && use.operand == 0 ? known<std::string>(use.user->input(1)) : nullptr;
    if (!key) return std::nullopt;
    add_once(keys, *key);
  }
  return keys;
}

// The model reads a list only at constant places 0 … n-1, n at least 2: one input for each. Empty otherwise: its length may vary.
Keys asked_places(const ir::Value* list) {
  std::set<std::int64_t> places;
  for (const ir::Use& use : list->uses()) {
    const auto* place = use.user->is("aten::__getitem__") && use.operand == 0 ? known<std::int64_t>(use.user->input(1)) : nullptr;
    if (!place || *place < 0) return {};
    places.insert(*place);
  }
  const auto count = static_cast<std::int64_t>(places.size());
  if (count < 2 || *places.rbegin() != count - 1) return {};
  Keys keys;
  for (const std::int64_t place : places) keys.push_back(std::to_string(place));
  return keys;
}

// What it holds that isn't None.
const ir::TypeRef& held_type(const ir::Value* input) {
  return ir::is(input->type(), ir::TypeKind::optional) ? input->type()->elements.front() : input->type();
}

// The members' names; empty: the input stays whole.
Keys members_of(const ir::Graph& graph, const ir::Value* input, const std::vector<std::string>& told) {
  Keys keys = told_keys(input->name(), told);
  const ir::TypeRef& type = held_type(input);
  if (ir::is(type, ir::TypeKind::dict)) {
    if (!ir::is(type->elements.front(), ir::TypeKind::string)) return {};
    return keys.empty() && type == input->type() ? asked_keys(graph, input).value_or(Keys()) : keys;
  }
  if (!ir::is(type, ir::TypeKind::list)) return {};
  if (keys.empty() && ir::is_tensor_list(input->type()) && std::ranges::find(told, input->name()) == told.end())
    return asked_places(input);
  std::size_t count = 0;
  while (std::find(keys.begin(), keys.end(), std::to_string(count)) != keys.end()) ++count;
  if (count != keys.size()) return {};
  for (std::size_t i = 0; i < count; ++i) keys[i] = std::to_string(i);
  return keys;
}

ir::Node* made_of_members(ir::Graph& graph, const ir::Value* input, const Keys& members) {
  const ir::TypeRef& type = held_type(input);
  const bool dict = ir::is(type, ir::TypeKind::dict);
  ir::Node* whole = graph.create(dict ? "prim::DictConstruct" : "prim::ListConstruct");
  graph.top()->prepend(whole);
  whole->add_output(type);
  for (const std::string& member : members) {
    if (dict) whole->add_input(constant_before(whole, {member}));
    whole->add_input(graph.top()->add_input(type->elements.back(), input->name() + "." + member));
  }
  return whole;
}

}  // namespace

std::size_t part_inputs(ir::Graph& graph, const std::vector<std::string>& told) {
  const std::vector<ir::Value*> inputs(graph.inputs().begin(), graph.inputs().end());
  std::vector<Keys> members;
  std::size_t parted = 0;
  for (const ir::Value* input : inputs) {
    members.push_back(members_of(graph, input, told));
    parted += !members.back().empty();
  }
  if (parted == 0) return 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {  // all anew, in their order
    ir::Value* instead = members[i].empty() ? graph.top()->add_input(inputs[i]->type(), inputs[i]->name())
                                            : made_of_members(graph, inputs[i], members[i])->output();
    inputs[i]->replace_all_uses_with(instead);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.top()->erase_input(0);
  return parted;
}

}  // namespace compatcheck::passes
