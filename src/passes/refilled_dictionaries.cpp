// A dictionary that is an attribute, and of which each call reads only keys that the same call has set before, keeps nothing from
// one call to the next: each call may as well make its own.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "passes/key_course.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The uses of one attribute.
struct Attribute {
  std::vector<ir::Node*> reads, accesses;
  bool local = true;
};

// Uses that name a constant key, and nothing else.
void add_read(Attribute& attribute, ir::Node* read) {
  attribute.reads.push_back(read);
  for (const ir::Use& use : read->output()->uses()) {
    ir::Node* user = use.user;
    attribute.local = attribute.local && use.operand == 0 && names_key(*user) && ir::constant_of(user->input(1));
    attribute.accesses.push_back(user);
  }
}

bool is_refilled(const ir::Graph& graph, const Attribute& attribute) {
  const auto is_this = [&](const ir::Value* value) {
    return std::ranges::find(attribute.reads, value->producer()) != attribute.reads.end();
  };
  const KeyCourse course(graph, is_this, attribute.accesses, {}, graph.top());
  return std::ranges::all_of(attribute.accesses,
                             [&](const ir::Node* access) { return course.sets(*access) || course.is_there(access); });
}

}  // namespace

std::size_t make_refilled_dictionaries(ir::Graph& graph, const ir::Watch& watch) {
  std::map<ObjectAttribute, Attribute> attributes;
  std::set<std::string_view> elsewhere;  // names of attributes that are set, or are of an unknown object
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!is_attribute_access(*node)) continue;
    const auto* object = known<ir::ObjectConstant>(node->input(0));
    if (node->is("prim::SetAttr") || !object)
      elsewhere.insert(attribute_name(*node));
    else if (ir::is(node->output()->type(), ir::TypeKind::dict))
      add_read(attributes[{object->object, attribute_name(*node)}], node);
  }
  std::size_t made = 0;
  for (auto& [name, attribute] : attributes) {
    const auto sets = [](const ir::Node* node) { return node->is("aten::_set_item"); };
    const auto may_be_same = [&](const auto& other) {
      return &other.second != &attribute &&
             ir::equal(*other.second.reads.front()->output()->type(), *attribute.reads.front()->output()->type());
    };
    if (std::ranges::any_of(attributes, may_be_same)) continue;  // a file may hold one dictionary as two attributes
    if (!attribute.local || elsewhere.contains(name.second) || std::ranges::none_of(attribute.accesses, sets) ||
        !is_refilled(graph, attribute))
      continue;
    ir::Node* first = attribute.reads.front();
    ir::Node* place = node_in(graph.top(), first);
    ir::Value* own = node_before(place, "prim::DictConstruct", {}, {&first->output()->type(), 1})->output();
    for (ir::Node* read : attribute.reads) {
      replace(read->output(), own);
      read->erase();
    }
    ++made;
  }
  return made;
}

}  // namespace compatcheck::passes
