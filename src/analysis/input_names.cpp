#include "analysis/input_names.h"

#include <algorithm>

#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "process/spell_count.h"

namespace compatcheck::analysis {
namespace {

void add_leaves(std::vector<InputLeaf>& leaves, const std::string& name, const std::string& by_field, std::uint32_t input,
                const ir::TypeRef& type) {
  if (type && type->kind == ir::TypeKind::tuple) {
    for (std::size_t i = 0; i < type->elements.size(); ++i) {
      const std::string place = "." + std::to_string(i);
      add_leaves(leaves, name + place, by_field + (i < type->field_names.size() ? "." + type->field_names[i] : place), input,
                 type->elements[i]);
    }
    return;
  }
  leaves.push_back({name, input, type, by_field == name ? std::string() : by_field});
}

// The part of a name as a place, if it is a field of this type.
std::string place_of(const std::string& part, const ir::TypeRef& type) {
  if (!ir::is(type, ir::TypeKind::tuple)) return part;
  const auto field = std::ranges::find(type->field_names, part);
  return field == type->field_names.end() ? part : std::to_string(field - type->field_names.begin());
}

// The type of the member that this part of a name names; null if there is none.
ir::TypeRef type_of_member(const std::string& part, const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::list) || ir::is(type, ir::TypeKind::dict)) return type->elements.back();
  const auto place = number_in(part);
  const bool held =
      ir::is(type, ir::TypeKind::tuple) && place && *place >= 0 && *place < static_cast<std::int64_t>(type->elements.size());
  return held ? type->elements[static_cast<std::size_t>(*place)] : nullptr;
}

std::string joined(const std::string& name, const std::vector<std::string>& members) {
  std::string text;
  for (const std::string& member : members) text += (text.empty() ? "" : ", ") + ir::member_name(name, member);
  return text;
}

// Refuses what no key of this dictionary is called.
void check_key(std::string_view text, const std::string& name, const std::string& part, const ir::Type& dict) {
  const bool numbers = ir::is(dict.elements.front(), ir::TypeKind::integer);
  if (!numbers && !ir::is(dict.elements.front(), ir::TypeKind::string))
    refuse(text, "'" + name + "' is " + ir::to_string(dict) + ": only members whose keys are texts or ints can be named");
  const auto number = number_in(part);
  if (numbers && (!number || std::to_string(*number) != part))
    refuse(text, "'" + part + "' is no key of '" + name + "', which is " + ir::to_string(dict) + ": state an int, as in " + name +
                     ".3");
  if (!numbers && !ir::key_of_name(part))
    refuse(text, "'" + part + "' names no key: in names, the '.', '=' and '%' of a key are written %2E, %3D and %25");
}

}  // namespace

void refuse(std::string_view text, const std::string& why) {
  throw UsageError("CheckOptions::inputs " + std::string(text) + ": " + why);
}

bool is_container_type(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::list) || ir::is(type, ir::TypeKind::dict) || ir::is(type, ir::TypeKind::tuple);
}

std::vector<std::string> places_of(const ir::Type& tuple) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < tuple.elements.size(); ++i) places.push_back(std::to_string(i));
  return places;
}

std::vector<InputLeaf> input_leaves(const ir::Graph& graph) {
  std::vector<InputLeaf> leaves;
  for (const ir::Value* input : graph.inputs())
    add_leaves(leaves, ir::input_name(*input), ir::input_name(*input), static_cast<std::uint32_t>(input->index()), input->type());
  return leaves;
}

std::string with_places(const std::string& name, const ir::Graph& graph) {
  const auto input =
      std::ranges::find_if(graph.inputs(), [&](const ir::Value* one) { return name.starts_with(ir::input_name(*one) + "."); });
  if (input == graph.inputs().end()) return name;
  std::string made = ir::input_name(**input);
  ir::TypeRef type = (*input)->type();
  for (std::size_t at = made.size(); at < name.size();) {
    const std::size_t dot = std::min(name.find('.', at + 1), name.size());
    const ir::TypeRef& held = ir::without_optional(type);
    const std::string part = place_of(name.substr(at + 1, dot - at - 1), held);
    made += "." + part;
    type = type_of_member(part, ir::TypeRef(held));
    at = dot;
  }
  return made;
}

const InputLeaf* find_leaf(const std::string& name, const std::vector<InputLeaf>& leaves) {
  const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const InputLeaf& leaf) {
    return name == leaf.name || (!ir::is(leaf.type, ir::TypeKind::tensor) && name.starts_with(leaf.name + "."));
  });
  return found == leaves.end() ? nullptr : &*found;
}

std::string known_names(const std::vector<InputLeaf>& leaves) {
  std::string names;
  for (const auto& leaf : leaves)
    names += (names.empty() ? "" : ", ") + leaf.name + (leaf.by_field.empty() ? "" : " (" + leaf.by_field + ")");
  return names.empty() ? "the model has no inputs" : "the model's inputs are " + names;
}

std::optional<std::vector<std::string>> members_read(const std::string& name, const InputLeaf& leaf, const ir::Graph& graph) {
  const ir::Value* input = graph.inputs()[leaf.input];
  return name == ir::input_name(*input) ? passes::read_members(graph, input) : passes::read_members_of(graph, name);
}

ir::TypeRef member_type(std::string_view text, const std::string& member, const InputLeaf& leaf, const ir::Graph& graph,
                        bool may_be_unread) {
  ir::TypeRef declared = leaf.type;
  std::string name = leaf.name;
  bool of_dict = false;
  for (std::size_t at = name.size(); at < member.size() && declared && !ir::is(declared, ir::TypeKind::any);) {
    const ir::TypeRef type = ir::without_optional(declared);
    const std::size_t dot = std::min(member.find('.', at + 1), member.size());
    const std::string part = member.substr(at + 1, dot - at - 1), key = ir::key_of_name(part).value_or(part);
    const bool list = ir::is(type, ir::TypeKind::list), tuple = ir::is(type, ir::TypeKind::tuple);
    const auto place = number_in(key);
    if (!list && !tuple && !ir::is(type, ir::TypeKind::dict))
      refuse(text, "'" + name + "' is " + ir::to_string(*type) + ", and no option can name its members" +
                       (of_dict ? "; a dot in a key is written %2E, as in " + name + "%2E" + member.substr(at + 1) : ""));
    if (ir::is(type, ir::TypeKind::dict)) check_key(text, name, part, *type);
    of_dict = ir::is(type, ir::TypeKind::dict);
    if (list && (!place || *place < 0 || *place >= static_cast<std::int64_t>(passes::most_members)))
      refuse(text, "'" + key + "' is no place in the list '" + name + "'");
    if (tuple && (!place || *place < 0 || *place >= static_cast<std::int64_t>(type->elements.size())))
      refuse(text, "the tuple '" + name + "' has " + spell_count(type->elements.size(), "member") + ": " +
                       joined(name, type->field_names.empty() ? places_of(*type) : type->field_names));
    if (!tuple && !may_be_unread)
      if (const auto read = members_read(name, leaf, graph); read && std::ranges::find(*read, key) == read->end())
        refuse(text, "the model reads no member '" + key + "' of input '" + name + "'" +
                         (read->empty() ? std::string() : "; it reads " + joined(name, *read)));
    name = member.substr(0, dot);
    declared = tuple ? type->elements[static_cast<std::size_t>(*place)] : type->elements.back();
    at = dot;
  }
  return declared;
}

std::optional<ir::TypeRef> type_named(const std::string& name, const ir::Graph& graph) {
  const auto leaves = input_leaves(graph);
  const InputLeaf* leaf = find_leaf(name, leaves);
  if (!leaf) return std::nullopt;
  try {
    return member_type(name, name, *leaf, graph);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::vector<std::string> names_in_order(std::size_t count, const std::vector<std::string>& named, const ir::Graph& graph,
                                        Defaulted defaults) {
  struct Slot {
    std::string name;
    bool list = false, defaulted = false;
  };
  std::vector<Slot> slots;
  for (const InputLeaf& leaf : input_leaves(graph)) {
    if (ir::is(leaf.type, ir::TypeKind::optional) && is_container_type(ir::without_optional(leaf.type))) continue;
    const bool container = ir::is(leaf.type, ir::TypeKind::list) || ir::is(leaf.type, ir::TypeKind::dict);
    const auto members = container ? members_read(leaf.name, leaf, graph) : std::nullopt;
    for (const std::string& member : members.value_or(std::vector<std::string>()))
      slots.push_back({ir::member_name(leaf.name, member)});
    const bool defaulted =
        std::ranges::find(defaults, leaf.input, &std::pair<std::size_t, ir::Constant>::first) != defaults.end();
    if (!members || members->empty()) slots.push_back({leaf.name, ir::is_tensor_list(leaf.type), defaulted});
  }
  std::erase_if(slots, [&](const Slot& slot) {
    return std::ranges::any_of(named,
                               [&](const std::string& name) { return name == slot.name || name.starts_with(slot.name + "."); });
  });
  const bool one_list = std::ranges::count_if(slots, &Slot::list) == 1;
  if (one_list)
    slots.erase(std::remove_if(std::ranges::find_if(slots, &Slot::list) + 1, slots.end(),
                               [](const Slot& slot) { return slot.defaulted; }),
                slots.end());
  const std::size_t more = one_list && count > slots.size() ? count - slots.size() : 0;
  std::vector<std::string> names;
  for (const Slot& slot : slots) {
    if (!slot.list) names.push_back(slot.name);
    for (std::size_t i = 0; slot.list && i <= more; ++i) names.push_back(slot.name + "." + std::to_string(i));
  }
  return names;
}

std::vector<std::string> names_in_order(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults) {
  std::vector<std::string> named;
  for (const std::string& text : texts)
    if (const auto equals = text.find('='); equals != text.npos) named.push_back(with_places(text.substr(0, equals), graph));
  return names_in_order(texts.size() - named.size(), named, graph, defaults);
}

}  // namespace compatcheck::analysis
