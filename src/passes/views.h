// Views that are views for sure: x.select(0, 1) shares x's memory whatever x is, x.reshape(…) only where the strides
// allow. Written through, such a view can be put back into what it is a view of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "passes/alias.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// The view that each value is, in the graph as it is when the object is made.
class Views {
 public:
  Views(const ir::Graph& graph, const Aliases& aliases);

  // The value that the view's node takes: of a part of x.chunk(2) the list of parts, and of that list x. Null for a
  // value that is no view for sure: a root.
  ir::Value* source(const ir::Value* value) const { return at(value).source; }
  // The tensor of which `value`, a tensor, is a view.
  ir::Value* parent(const ir::Value* value) const;
  // The first of the views; a list that is no list of parts is its own root. Null for what is neither tensor nor list.
  ir::Value* root(const ir::Value* value) const { return at(value).root; }
  // How many views lead from it to the root.
  std::size_t depth(const ir::Value* value) const { return at(value).depth; }

 private:
  struct Place {
    ir::Value* source = nullptr;
    ir::Value* root = nullptr;
    std::uint32_t depth = 0;
  };
  const Place& at(const ir::Value* value) const {
    static constexpr Place none{};
    return value->id() < places_.size() ? places_[value->id()] : none;
  }
  void add(const ir::Block& block, const Aliases& aliases);
  void add(ir::Value* value, const Aliases& aliases);

  std::vector<Place> places_;  // indexed by value id
};

// Whether the view is its source again: x.detach(), x[:].
bool is_whole(const ir::Node& view);

// Called a view, but the result is the argument itself.
bool gives_its_argument(const ir::Node& node);

// The names of the inputs that are outputs as well, also in tuples and lists. They have the value that was written last.
std::unordered_set<std::string> returned_inputs(const ir::Graph& graph);

// Whether elements of the view may share memory: x.expand(…).
bool is_expansion(const ir::Node& node);

// Why a new value of the view can't be put back into its parent; empty if it can.
std::string_view put_back_obstacle(const ir::Value* view);

// One of the results of meshgrid or broadcast_tensors, which may be expanded views though their schemas don't say so.
bool is_expanded_part(const ir::Value* value);

// The parts of one split, this one included, which don't overlap; empty if the view is no such part.
std::span<ir::Value* const> parts_beside(const ir::Value* view);

// New nodes before `place` that give `parent` with `child` in the place of `view`. For a part of a split, `parts` are
// the values of all parts.
ir::Value* put_back(const ir::Value* view, ir::Value* parent, ir::Value* child, std::span<ir::Value* const> parts,
                    ir::Node* place, const ir::Node& origin, const schema::Registry& registry);

// The node reads sizes, dtype or device of the operand, not what it holds.
bool reads_only_form(const ir::Node& node, std::size_t operand);

}  // namespace compatcheck::passes
