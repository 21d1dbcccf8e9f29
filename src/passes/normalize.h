// From what a front end loads to a graph that converting can walk: one method, without calls, attributes, tuples,
// Python's arithmetic, or writes, as far as that can be proved.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "passes/budget.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "schema/schema.h"

namespace compatcheck::passes {

struct Normalized {
  // The method's inputs without `self`, as the user passes them: lists, tuples and dicts keep their types. Objects, and
  // attributes that remain, are read from a prim::Constant of the object. A constant that was an attribute has the attribute
  // `path`, its name in the state_dict. A node with the attribute `inplace` has the dtype of its first argument, whatever type
  // promotion would give.
  ir::Graph graph;
  // The default values of the method's inputs, by number.
  std::vector<std::pair<std::size_t, ir::Constant>> defaults;
  std::vector<std::string> steps;  // the passes that changed something, in order: "inlined 54 calls"
  std::vector<UnresolvedWrite> unresolved_writes;
  // The graph before branches that only raise were dropped, for normalize() with keep_assertions; empty if it raises nowhere.
  std::optional<ir::Graph> with_assertions{};
  std::vector<ir::LostWrite> lost_writes{};
  std::vector<StateAttribute> state{};  // attributes that became inputs and outputs, on request
};

struct NormalizeOptions {
  std::string method = "forward";
  ir::Watch watch;
  bool keep_assertions = false;  // keep branches that only raise, unless their condition is known
  bool gradients = false;        // what torch.is_grad_enabled() says
  bool state_as_inputs = false;  // turn attributes that calls change into inputs and outputs
  bool verify_between = false;   // run ir::Graph::verify after every pass
  std::function<void(const ir::Graph&, std::string_view pass)> after_pass;
};

// The registry must outlive the graph, whose nodes point at its schemas. Throws ModelError where the root object has no
// such method, or calls itself without end.
Normalized normalize(const ir::Program& program, const schema::Registry& registry, const NormalizeOptions& options = {});
Normalized normalize(ir::Graph graph, const schema::Registry& registry, const NormalizeOptions& options = {});
// Takes a graph whose calls are inlined: Normalized::with_assertions. The program is null if the graph was text.
Normalized normalize(ir::Graph graph, const ir::Program* program, const schema::Registry& registry,
                     const NormalizeOptions& options);

std::size_t node_count(const ir::Graph& graph);  // nested blocks included

// The passes that fold, prune and unroll, again on a normalised graph, with what has become known of its values since:
// the facts of inputs. Returns whether anything changed.
struct SimplifyOptions {
  const ir::Program* program = nullptr;               // the program that the graph comes from, if any
  std::vector<ir::LostWrite>* lost_writes = nullptr;  // lost writes that are found are appended
  bool keep_assertions = false;
  bool at_rest = false;  // the graph is as these passes left it
  std::size_t most_unrolled = Budget{}.unrolled;
};
bool simplify(ir::Graph& graph, const schema::Registry& registry, const KnownValue& known, const SimplifyOptions& options = {},
              const ir::Watch& watch = {});

}  // namespace compatcheck::passes
