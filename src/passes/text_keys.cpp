// A dictionary that is only asked for one text, which the running model computes, such as str(x.size()): whatever the text is,
// the dictionary does the same, so a constant takes its place. An attribute becomes a dictionary of the call's own if no call can
// tell: it is empty in the file, and what is kept under a text follows from this text alone.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/control_flow.h"
#include "passes/alias.h"
#include "passes/dictionary_attributes.h"
#include "passes/effects.h"
#include "passes/memory_marks.h"
#include "passes/passes.h"

namespace compatcheck::passes {
namespace {

// The dictionary under its names: one that is made, or the reads of an attribute.
struct Dictionary {
  std::vector<ir::Node*> makers, accesses;
  ir::Value* key = nullptr;  // the only one; null if others are named, or the dictionary is used otherwise
  bool possible = true;
};

void add_maker(Dictionary& dictionary, ir::Node* maker) {
  dictionary.makers.push_back(maker);
  for (const ir::Use& use : maker->output()->uses()) {
    if (use.operand != 0 || !names_key(*use.user)) {
      dictionary.possible = false;
      return;
    }
    ir::Value* key = use.user->input(1);
    dictionary.possible = dictionary.possible && (!dictionary.key || dictionary.key == key);
    dictionary.key = key;
    dictionary.accesses.push_back(use.user);
  }
}

// One text for as long as the dictionary lives, which is a call of the model or an iteration of `block`.
bool has_unknown_text(const Dictionary& dictionary, const ir::Block* block) {
  return dictionary.possible && dictionary.key && ir::is(dictionary.key->type(), ir::TypeKind::string) &&
         !ir::constant_of(dictionary.key) && available_in(dictionary.key, block);
}

// A part of a joined text: a constant text, a number or a list of numbers.
struct Part {
  std::string text;
  const ir::Value* value = nullptr;
};

bool is_number(const Part& part) { return part.value && ir::is(part.value->type(), ir::TypeKind::integer); }

bool add_value(const ir::Value* value, std::vector<Part>& parts) {
  if (const auto* text = known<std::string>(value)) return parts.push_back({*text, nullptr}), true;
  const auto& type = value->type();
  const bool numbers = ir::is(type, ir::TypeKind::list) && ir::is(type->elements[0], ir::TypeKind::integer);
  if (ir::is(type, ir::TypeKind::integer) || numbers) return parts.push_back({{}, value}), true;
  return false;
}

bool add_parts(const ir::Value* text, std::vector<Part>& parts, int depth = 0) {
  const ir::Node* made = text->producer();
  if (!made || ir::constant_of(text)) return add_value(text, parts);
  if (depth > 100) return false;
  if (made->is("aten::str") || made->is("aten::format")) {
    std::string format = made->is("aten::str") ? "{}" : "";
    const auto* given = made->is("aten::format") ? known<std::string>(made->input(0)) : nullptr;
    if (given) format = *given;
    std::size_t argument = given ? 1 : 0, at = 0;
    for (std::size_t place; (place = format.find("{}", at)) != std::string::npos; at = place + 2, ++argument) {
      parts.push_back({format.substr(at, place - at), nullptr});
      if (argument >= made->inputs().size() || !add_value(made->input(argument), parts)) return false;
    }
    parts.push_back({format.substr(at), nullptr});
    return argument == made->inputs().size();
  }
  if (!made->is("aten::add")) return false;
  return add_parts(made->input(0), parts, depth + 1) && add_parts(made->input(1), parts, depth + 1);
}

// The values that follow from the text; none if two lists of values may give one text, as "1" + "12" and "11" + "2" do.
std::set<const ir::Value*> values_in(const ir::Value* text) {
  std::vector<Part> parts;
  if (!add_parts(text, parts)) return {};
  std::erase_if(parts, [](const Part& part) { return !part.value && part.text.empty(); });
  const auto may_belong = [](char letter) { return (letter >= '0' && letter <= '9') || letter == '-'; };
  std::set<const ir::Value*> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].value) continue;
    values.insert(parts[i].value);
    if (i + 1 == parts.size() || !is_number(parts[i])) continue;
    const Part& next = parts[i + 1];
    if (is_number(next) || (!next.value && may_belong(next.text.front()))) return {};
  }
  return values;
}

// Whether values follow from some sizes alone.
class Determined {
 public:
  Determined(std::set<const ir::Value*> known, const Aliases& aliases) : known_(std::move(known)), aliases_(aliases) {
    std::erase_if(known_, [&](const ir::Value* value) { return aliases.reach_written(value); });  // a list may change afterwards
    for (const ir::Value* value : known_)
      if (const ir::Node* made = value->producer(); made && made->is("aten::size") && made->inputs().size() == 1)
        sized_.insert(made->input(0));
  }

  bool holds(const ir::Value* value) {
    if (known_.contains(value) || ir::constant_of(value)) return true;
    const ir::Node* made = value->producer();
    if (!made || !made->blocks().empty() || is_random(*made) || has_effect(*made) || writes(*made) ||
        is_attribute_access(*made) || aliases_.reach_written(value))
      return false;
    const bool size = made->is("aten::size") && sized_.contains(made->input(0));
    for (std::size_t i = size ? 1 : 0; i < made->inputs().size(); ++i)
      if (!holds(made->input(i))) return false;
    known_.insert(value);
    return true;
  }

 private:
  std::set<const ir::Value*> known_, sized_;
  const Aliases& aliases_;
};

const ir::DictConstant* held_in(const ir::Program& program, const ObjectAttribute& attribute) {
  const ir::Object& object = program.objects.at(attribute.first);
  const auto type = program.classes.find(object.class_name);
  if (type == program.classes.end()) return nullptr;
  const auto& names = type->second.attributes;
  const auto at = std::ranges::find(names, attribute.second, [](const auto& each) { return std::string_view(each.name); });
  return at == names.end() ? nullptr : object.attributes.at(static_cast<std::size_t>(at - names.begin())).get<ir::DictConstant>();
}

bool has_effects_but(const ir::Block& block, const ir::Node* allowed) {
  for (const ir::Node* node = block.first(); node; node = node->next()) {
    if (node != allowed && (has_effect(*node) || writes(*node))) return true;
    for (const ir::Block* inner : node->blocks())
      if (has_effects_but(*inner, allowed)) return true;
  }
  return false;
}

// The condition under which the text isn't a key: `asked`, negated or not. Null if something else reads it.
const ir::Node* branch_on(const ir::Node* asked, bool& when) {
  const ir::Value* value = asked->output();
  for (when = false; value->uses().size() == 1; when = !when) {
    const ir::Node* user = value->uses()[0].user;
    if (user->is("prim::If")) return user;
    if (!user->is("aten::__not__")) return nullptr;
    value = user->output();
  }
  return nullptr;
}

// `if key not in cache: cache[key] = value`, once, in every call, and then reads: the model can't tell a call that finds the
// value from the one that kept it, as nothing but the value depends on the branch, and the value follows from the key.
bool is_memo(const Dictionary& dictionary, const ir::Graph& graph, const Aliases& aliases) {
  const ir::Node *set = nullptr, *asked = nullptr;
  for (const ir::Node* access : dictionary.accesses) {
    const ir::Node*& found = access->is("aten::_set_item") ? set : asked;
    if (!access->is("aten::_set_item") && !access->is("aten::__contains__")) continue;
    if (found) return false;
    found = access;
  }
  bool when = false;
  const ir::Node* branch = set && asked ? branch_on(asked, when) : nullptr;
  if (!branch || branch->owner() != graph.top() || !branch->outputs().empty()) return false;
  const ir::Block &misses = ir::IfView(*branch).block_if(when), &finds = ir::IfView(*branch).block_if(!when);
  if (set->owner() != &misses || finds.first() || has_effects_but(misses, set)) return false;
  std::set<const ir::Node*> later;
  for (const ir::Node* node = branch; node; node = node->next()) later.insert(node);
  const bool reads_after = std::ranges::all_of(
      dictionary.accesses, [&](ir::Node* access) { return access == asked || later.contains(node_in(graph.top(), access)); });
  return reads_after && Determined(values_in(dictionary.key), aliases).holds(set->input(2));
}

// Items of the dictionary are written in place: the next read gives it changed, which new values in place of the write hide.
constexpr std::string_view written_mark = "written";

bool holds_written(const Dictionary& dictionary, const Aliases& aliases) {
  const auto sets_item = [](const ir::Node* node) { return node->is("aten::_set_item"); };
  if (std::ranges::all_of(aliases.writers(), sets_item)) return false;
  return !dictionary.possible || std::ranges::any_of(dictionary.accesses, [&](const ir::Node* access) {
    return !access->is("aten::__contains__") && aliases.reach_written(sets_item(access) ? access->input(2) : access->output());
  });
}

// Each call sets the key before anything else.
bool is_set_first(const Dictionary& dictionary, const ir::Graph& graph) {
  std::set<const ir::Node*> around;
  for (ir::Node* access : dictionary.accesses) around.insert(node_in(graph.top(), access));
  for (const ir::Node* node = graph.top()->first(); node; node = node->next())
    if (around.contains(node)) return node->is("aten::_set_item");
  return false;
}

void name_constant(const Dictionary& dictionary) {
  for (ir::Node* access : dictionary.accesses) access->replace_input(1, constant_before(access, {std::string("text")}));
}

}  // namespace

std::size_t settle_text_keys(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  std::vector<Dictionary> made;
  for (ir::Node* node : all_nodes(graph, watch))
    if (node->is("prim::DictConstruct") && node->inputs().empty()) add_maker(made.emplace_back(), node);
  std::map<ObjectAttribute, Dictionary> attributes;
  const auto [all_reads, elsewhere] = dictionary_attributes(graph, watch);
  for (const auto& [name, reads] : all_reads)
    for (ir::Node* read : reads) add_maker(attributes[name], read);
  std::size_t settled = 0;
  for (const Dictionary& dictionary : made)
    if (has_unknown_text(dictionary, dictionary.makers.front()->owner())) name_constant(dictionary), ++settled;
  if (!program || attributes.empty()) return settled;
  const auto aliases = Aliases::of(graph, program, watch);
  for (const auto& [name, dictionary] : attributes)
    if (holds_written(dictionary, *aliases))
      for (ir::Node* read : dictionary.makers) mark(read, written_mark);
  for (const auto& [name, dictionary] : attributes) {
    const ir::DictConstant* held = held_in(*program, name);
    const auto may_be_same = [&](const auto& other) {  // a file may hold one dictionary as two attributes
      const ir::DictConstant* its = held_in(*program, other.first);
      return &other.second != &dictionary && (!its || its->identity == held->identity);
    };
    const auto is_written = [](const ir::Node* read) { return is_marked(*read, written_mark); };
    if (!held || std::ranges::any_of(dictionary.makers, is_written) || !has_unknown_text(dictionary, graph.top()) ||
        elsewhere.contains(name.second) || std::ranges::any_of(attributes, may_be_same))
      continue;
    if (!(held->items.empty() && is_memo(dictionary, graph, *aliases)) && !is_set_first(dictionary, graph)) continue;
    name_constant(dictionary);
    make_own(graph, dictionary.makers);
    ++settled;
  }
  return settled;
}

}  // namespace compatcheck::passes
