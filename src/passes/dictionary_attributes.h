// Attributes that are dictionaries, and those of which each call of the model may as well make its own.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "passes/rewrite.h"

namespace compatcheck::passes {

// Whether the node reads, sets or looks for one key of a dictionary.
inline bool names_key(const ir::Node& node) {
  return node.is("aten::_set_item") || node.is("aten::__getitem__") || node.is("aten::__contains__");
}

struct DictionaryAttributes {
  std::map<ObjectAttribute, std::vector<ir::Node*>> reads;
  std::set<std::string_view> elsewhere;  // names of attributes that are set, or are of an unknown object
};
DictionaryAttributes dictionary_attributes(const ir::Graph& graph, const ir::Watch& watch);

// An empty dictionary of the call's own takes the place of the attribute that these nodes read, of which there is one at least.
void make_own(const ir::Graph& graph, std::span<ir::Node* const> reads);

}  // namespace compatcheck::passes
