// The attributes that a graph reads and writes, and what keeps one from becoming an input and an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "passes/alias.h"
#include "passes/container_attributes.h"

namespace compatcheck::passes {

// One attribute that the graph reads or writes.
struct Accessed {
  const ir::Constant* stored = nullptr;
  ir::TypeRef type;  // the declared type
  std::string path;
  std::size_t place = 0;  // index among the module's attributes
  std::vector<ir::Node*> reads{}, sets{};
  std::vector<ir::Node*> writes{};  // in-place writes to memory that the attribute may hold
  std::string obstacle{};

  bool is_written() const { return !sets.empty() || !writes.empty(); }
};

class StateAccesses {
 public:
  StateAccesses(const ir::Graph& graph, const ir::Program& program, const ir::Watch& watch);

  std::map<AttributeKey, Accessed>& cells() { return cells_; }
  const std::map<AttributeKey, Accessed>& cells() const { return cells_; }
  std::vector<AttributeKey> written() const;  // in the order of the module's attributes
  const Aliases& aliases() const { return aliases_; }

  // Lists and tensors that the attribute may hold when it is read.
  std::vector<LocationId> memory_of(const Accessed& cell) const;
  bool may_be_of_unknown_object(const AttributeKey& key) const { return of_unknown_objects_.contains(key.second); }
  // The next call gets the value alone: nothing that it writes in place may be the memory of something else that the model, or
  // its caller, still holds. Empty if nothing is.
  std::string sharing(const AttributeKey& key, const Accessed& cell) const;

 private:
  ir::Watch watch_;
  Aliases aliases_;
  std::map<AttributeKey, Accessed> cells_;
  std::set<std::string> of_unknown_objects_;
};

// How a member of a dictionary is called; empty for keys that are neither texts nor ints.
std::string text_of_key(const ir::Constant& key);

// Calls visit(member, its path) for all that a list, tuple or dictionary leads to, itself first.
template <class Visit>
void for_each_member(const ir::Constant& value, const std::string& path, const Visit& visit) {
  visit(value, path);
  std::size_t place = 0;
  const auto inside = [&](const ir::Constants& items) {
    for (const ir::Constant& item : items) for_each_member(item, path + "." + std::to_string(place++), visit);
  };
  if (const auto* list = value.get<ir::ListConstant>()) inside(list->items);
  if (const auto* tuple = value.get<ir::TupleConstant>()) inside(tuple->items);
  if (const auto* dict = value.get<ir::DictConstant>())
    for (const auto& [key, item] : dict->items) for_each_member(item, path + "." + text_of_key(key), visit);
}

// One view of the same memory.
bool same_view(const ir::Constant& one, const ir::Constant& other);

// Returns why a prim::SetAttr in the body of an operator that isn't a branch or a loop can't become state; empty otherwise.
std::string obstacle_of_place(const ir::Node& set);

}  // namespace compatcheck::passes
