// The values that a model keeps between calls, as inputs and outputs of its graph.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"

namespace compatcheck::passes {

// An attribute that a call reads and writes. Its input stands among the graph's last ones, its output among the last ones, too,
// both in the order of the attributes.
struct StateAttribute {
  std::string path;      // "layers.0.k_cache", as in the state_dict
  ir::Constant initial;  // the value in the file
  std::string input;     // the name of the graph's input: the path, or "state." and the path where an input has that name
  std::string output;    // "layers.0.k_cache.next"
};

// The decisions about attributes that hold lists, dictionaries and tuples.
struct ContainerDecisions {
  std::map<std::pair<std::uint32_t, std::string>, std::string> refused;  // object and attribute, and the reason
  std::set<std::pair<std::uint32_t, std::string>> lists;                 // become one list, whose length may change
};

struct MadeState {
  std::vector<StateAttribute> attributes;
  std::map<std::pair<std::uint32_t, std::string>, std::string> refused;  // attributes that can't become inputs, and why
};

// The attributes that the graph still writes become inputs, and what they hold after the call outputs: reads and writes of
// attributes (prim::SetAttr) become values across branches and loops, in-place writes become writes to an input, which
// functionalize_writes takes. Where that can't be proved to be the same, the attribute stays, and its writes get the reason as
// the attribute `state_obstacle`.
MadeState attributes_to_state(ir::Graph& graph, const ir::Program& program, const ContainerDecisions& decided = {},
                              const ir::Watch& watch = {});

// For the graph as the other passes left it: values that no call reads before it writes them, or that no call changes, are no
// state. Removes the entries from `state` and their inputs and outputs from the graph. Returns how many.
std::size_t drop_idle_state(ir::Graph& graph, std::vector<StateAttribute>& state);

inline constexpr std::string_view state_obstacle = "state_obstacle";

}  // namespace compatcheck::passes
