// A dictionary that is an attribute, and of which each call reads only keys that the same call has set before, keeps nothing from
// one call to the next: each call may as well make its own.
#include <algorithm>
#include <map>
#include <vector>

#include "passes/dictionary_attributes.h"
#include "passes/key_course.h"
#include "passes/passes.h"

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
  const auto [all_reads, elsewhere] = dictionary_attributes(graph, watch);
  for (const auto& [name, reads] : all_reads)
    for (ir::Node* read : reads) add_read(attributes[name], read);
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
    make_own(graph, attribute.reads);
    ++made;
  }
  return made;
}

}  // namespace compatcheck::passes
