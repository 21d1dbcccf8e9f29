#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/order.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using Keys = std::vector<std::string>;

void add_once(Keys& keys, std::string key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
}

// Returns the keys in "name.key" and "name.key.more".
Keys stated_keys(const std::string& name, const std::vector<std::string>& stated) {
  Keys keys;
  for (const std::string_view text : stated)
    if (text.starts_with(name + ".")) {
      const std::string_view rest = text.substr(name.size() + 1), part = rest.substr(0, rest.find('.'));
      add_once(keys, ir::key_of_name(part).value_or(std::string(part)));
    }
  return keys;
}

bool is_dict(const ir::Value* value) { return ir::is(ir::without_optional(value->type()), ir::TypeKind::dict); }

// Adds the keys under which an input is read, through the Optional that it may be. False if anything else is done with it. The
// keys of a dictionary are in the model's order.
bool add_reads(const ir::Order& order, const ir::Value* value, Keys& keys) {
  std::vector<ir::Use> uses(value->uses().begin(), value->uses().end());
  std::ranges::sort(uses, {}, [&](const ir::Use& use) { return order.of(use.user); });
  for (const ir::Use& use : uses) {
    const ir::Node& user = *use.user;
    if (compares_identity(user)) continue;
    if (user.op().ends_with("Construct") && user.outputs().size() == 1 && user.output()->unused()) continue;  // parted
    if (user.is("prim::unchecked_cast") || user.is("aten::_unwrap_optional")) {
      if (!add_reads(order, user.output(), keys)) return false;
    } else if (user.is("prim::ListUnpack")) {
      for (std::size_t place = 0; place < user.outputs().size(); ++place) add_once(keys, std::to_string(place));
    } else {
      if (!user.is("aten::__getitem__") || use.operand != 0) return false;
      if (const auto* key = known<std::string>(user.input(1)))
        add_once(keys, *key);
      else if (const auto* place = known<std::int64_t>(user.input(1)); place && (*place >= 0 || is_dict(value)))
        add_once(keys, std::to_string(*place));
      else
        return false;
    }
  }
  return true;
}

// The model reads a list only at constant places 0 … n-1, n at least 2: one input for each. Empty otherwise: its length may vary.
Keys constant_places(const ir::Value* list) {
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

std::optional<std::size_t> place_of(const std::string& key) {
  std::size_t place = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), place);
  return error == std::errc() && end == key.data() + key.size() && place < most_members ? std::optional(place) : std::nullopt;
}

bool holds_containers(const ir::TypeRef& tuple) {
  return std::ranges::any_of(tuple->elements, [](const ir::TypeRef& element) {
    const ir::TypeRef& held = ir::without_optional(element);
    return ir::is(held, ir::TypeKind::list) || ir::is(held, ir::TypeKind::dict) ||
           (ir::is(held, ir::TypeKind::tuple) && holds_containers(held));
  });
}

// The members' names; empty: the input stays whole.
Keys members_of(const ir::Graph& graph, const ir::Value* input, const std::vector<std::string>& stated) {
  Keys keys = stated_keys(input->name(), stated);
  const ir::TypeRef& type = ir::without_optional(input->type());
  if (ir::is(type, ir::TypeKind::dict)) {
    if (!ir::has_nameable_keys(type) || (keys.empty() && type != input->type())) return {};
    Keys all = read_members(graph, input).value_or(Keys());
    for (std::string& key : keys) add_once(all, std::move(key));
    return all;
  }
  const bool may_be_none = type != input->type();
  if (ir::is(type, ir::TypeKind::tuple) && (may_be_none ? !keys.empty() : holds_containers(type))) {  // all members or None
    keys.clear();
    for (std::size_t i = 0; i < type->elements.size(); ++i) keys.push_back(std::to_string(i));
    return keys;
  }
  if (!ir::is(type, ir::TypeKind::list)) return {};
  if (keys.empty() && ir::is_tensor_list(input->type()) && std::ranges::find(stated, input->name()) == stated.end())
    return constant_places(input);
  if (keys.empty()) return {};
  for (std::string& key : read_members(graph, input).value_or(Keys())) add_once(keys, std::move(key));
  std::size_t count = 0;  // places before a named one are members, too
  for (const std::string& key : keys) {
    const auto place = place_of(key);
    if (!place) return {};
    count = std::max(count, *place + 1);
  }
  keys.clear();
  for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i));
  return keys;
}

bool members_are_containers(const ir::TypeRef& type) {
  const ir::TypeRef& held = type->elements.back();
  return ir::is(held, ir::TypeKind::dict) || ir::is(held, ir::TypeKind::list);
}

// Reads of a member that is itself split next.
void replace_reads(const ir::Value* input, const std::string& member, ir::Value* part) {
  const std::vector<ir::Use> uses(input->uses().begin(), input->uses().end());
  for (const ir::Use& use : uses) {
    if (!use.user->is("aten::__getitem__")) continue;
    const auto* key = known<std::string>(use.user->input(1));
    const auto* place = known<std::int64_t>(use.user->input(1));
    if ((key && *key == member) || (place && std::to_string(*place) == member)) {
      use.user->output()->replace_all_uses_with(part);
      use.user->erase();
    }
  }
}

// Reads of a tuple's members, which may be lists and dictionaries to take apart next.
void replace_tuple_reads(const ir::Value* input, const std::vector<ir::Value*>& parts) {
  const std::vector<ir::Use> uses(input->uses().begin(), input->uses().end());
  for (const ir::Use& use : uses) {
    if (use.user->is("prim::TupleUnpack") && use.user->outputs().size() == parts.size()) {
      for (std::size_t i = 0; i < parts.size(); ++i) use.user->outputs()[i]->replace_all_uses_with(parts[i]);
      use.user->erase();
    } else if (use.user->is("prim::TupleIndex") && use.operand == 0) {
      const auto* place = known<std::int64_t>(use.user->input(1));
      if (!place || *place < 0 || *place >= static_cast<std::int64_t>(parts.size())) continue;
      use.user->output()->replace_all_uses_with(parts[static_cast<std::size_t>(*place)]);
      use.user->erase();
    }
  }
}

ir::Constant key_constant(const ir::Type& dict, const std::string& text) {
  std::int64_t number = 0;
  if (!ir::is(dict.elements.front(), ir::TypeKind::integer)) return {text};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return {number};
}

ir::Node* made_of_members(ir::Graph& graph, const ir::Value* input, const Keys& members) {
  const ir::TypeRef& type = ir::without_optional(input->type());
  const bool dict = ir::is(type, ir::TypeKind::dict), tuple = ir::is(type, ir::TypeKind::tuple);
  ir::Node* whole = graph.create(dict ? "prim::DictConstruct" : tuple ? "prim::TupleConstruct" : "prim::ListConstruct");
  graph.top()->prepend(whole);
  whole->add_output(type);
  std::vector<ir::Value*> parts;
  const bool is_read_only = !tuple && members_are_containers(type) && read_members(graph, input);
  for (const std::string& member : members) {
    if (dict) whole->add_input(constant_before(whole, key_constant(*type, member)));
    const ir::TypeRef& held = tuple ? type->elements[whole->inputs().size()] : type->elements.back();
    ir::Value* part = graph.top()->add_input(held, ir::member_name(input->name(), member));
    whole->add_input(part);
    parts.push_back(part);
    if (is_read_only) replace_reads(input, member, part);
  }
  if (tuple) replace_tuple_reads(input, parts);
  return whole;
}

std::size_t part_once(ir::Graph& graph, const std::vector<std::string>& stated) {
  const std::vector<ir::Value*> inputs(graph.inputs().begin(), graph.inputs().end());
  std::vector<Keys> members;
  std::size_t parted = 0;
  for (const ir::Value* input : inputs) {
    members.push_back(members_of(graph, input, stated));
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

}  // namespace

std::optional<std::vector<std::string>> read_members_of(const ir::Graph& graph, const std::string& name) {
  ir::Graph parted = graph.clone();
  part_inputs(parted, {});
  Keys keys;
  for (const ir::Value* input : parted.inputs()) {
    if (input->name() == name) return read_members(parted, input);
    for (std::string& key : stated_keys(name, {input->name()})) add_once(keys, std::move(key));
  }
  return keys.empty() ? std::nullopt : std::optional(std::move(keys));
}

std::optional<std::vector<std::string>> read_members(const ir::Graph& graph, const ir::Value* input) {
  Keys keys;
  if (!add_reads(ir::Order(graph), input, keys)) return std::nullopt;
  return keys;
}

// Members may be lists and dictionaries themselves.
std::size_t part_inputs(ir::Graph& graph, const std::vector<std::string>& stated) {
  std::size_t parted = 0;
  while (const std::size_t more = part_once(graph, stated)) parted += more;
  return parted;
}

}  // namespace compatcheck::passes
