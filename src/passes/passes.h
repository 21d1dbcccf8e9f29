// The passes, each a function that returns how many things it changed. Their order is the table in normalize.cpp. Each
// asks the watch as it goes: what that throws leaves a graph that is only good for deleting.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "passes/budget.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// ---- From a program to one graph

// Calls of methods and functions become their bodies; locations get the chain of callers, nodes the module they
// belong to. Throws ModelError for recursion.
std::size_t inline_calls(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch = {});

// Dictionaries and lists that the model is given become their members, each an input of its own: "batch.mask", "images.0". The
// members are those named by `stated` ("images.0", or "images.0.boxes" for a member's member) and the others that the model
// reads. Without names, a dictionary of which the model reads only fixed keys and a list of tensors of which it reads only the
// first ones are split into these, and a tuple that holds lists or dictionaries is split into all its members. An input that
// `stated` names itself stays whole.
std::size_t part_inputs(ir::Graph& graph, const std::vector<std::string>& stated);

// Does the same as read_members() for a member that is a dictionary or list: "pair.1".
std::optional<std::vector<std::string>> read_members_of(const ir::Graph& graph, const std::string& name);

inline constexpr std::size_t most_members = 10000;  // most members that a list may be split into

// The keys or places of a dictionary or list that the model is given which the model reads, before it is parted; nullopt if more
// is done with it than reading members that are fixed in the code.
std::optional<std::vector<std::string>> read_members(const ir::Graph& graph, const ir::Value* input);

// The `training` attribute of every module reads as false, in a graph from text too.
std::size_t read_training_as_false(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});

// The calls of torch.is_grad_enabled() give `on`.
std::size_t settle_gradients(ir::Graph& graph, bool on, const ir::Watch& watch = {});

// The fast path of nn.TransformerEncoder packs its input without padding. It becomes the path with a mask, and padding is filled.
// Before branches are settled: the code of both paths tells what belongs together.
std::size_t pad_nested_tensors(ir::Graph& graph, const ir::Watch& watch = {});

// Attributes that nothing writes become constants; the first form leaves tensors, lists and dicts alone, and needs no
// alias analysis.
std::size_t plain_attributes_to_constants(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch = {});
std::size_t attributes_to_constants(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch = {});

// ---- Devices, remarks, types

std::size_t devices_to_cpu(ir::Graph& graph, const ir::Watch& watch = {});
std::size_t drop_remarks(ir::Graph& graph, const ir::Watch& watch = {});     // prints, warnings, profiling
std::size_t drop_assertions(ir::Graph& graph, const ir::Watch& watch = {});  // branches that only raise
std::size_t drop_type_refinements(ir::Graph& graph,
                                  const ir::Watch& watch = {});  // prim::unchecked_cast and its like, where types agree

// ---- Values

// Constant tensors without dimensions become the numbers that libtorch's executor takes them for. Before anything else is folded:
// only what the graph itself holds as a constant is one. Needs schemas; leaves them to be resolved anew.
std::size_t numbers_as_operands(ir::Graph& graph, const ir::Watch& watch = {});

std::size_t pool_constants(ir::Graph& graph, const ir::Watch& watch = {});  // each constant once, at the top

// Returns a value that is known from elsewhere, as from shapes of inputs; nullopt if it isn't.
using KnownValue = std::function<std::optional<ir::Constant>(const ir::Value&)>;
// But lists; needs no alias analysis.
std::size_t fold_numbers(ir::Graph& graph, Budget& budget, const ir::Watch& watch = {});
std::size_t fold_constants(ir::Graph& graph, const ir::Program* program, Budget& budget, const KnownValue& known = {},
                           const ir::Watch& watch = {});

// Follows the contents of lists, dictionaries, tuples and objects, and of attributes that calls write, through the program. Reads
// become the values that they read, and writes are removed. Uses that can't be followed stay. Writes to lists that are the
// model's inputs are added to `lost`.
std::size_t follow_containers(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget& budget,
                              std::vector<ir::LostWrite>& lost, bool keep_assertions, const ir::Watch& watch = {});

// Whether following them would leave nothing out.
bool follows_all_containers(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget budget,
                            bool keep_assertions, const ir::Watch& watch = {});

// Whether the graph makes objects, or containers that others may hold.
bool has_references(const ir::Graph& graph);

// Puts each item of a list of Optionals into an object, so that these lists can be numbered. False, and the graph is unchanged,
// if there is none, or if an operator needs one whole.
bool box_optionals(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch = {});

// Whether it makes lists of Optionals.
bool holds_optionals(const ir::Graph& graph, const ir::Watch& watch = {});

// Makes numbers of objects, and of lists and dictionaries that others hold, if some containers can't be followed and all can be
// then: the place of each among all that the program makes of its kind. What they hold then stands in lists, so two names of one
// object are equal numbers wherever the program keeps them: in lists that loops fill, in dictionaries, in attributes of other
// objects. What the model gets, or gives to an operator that needs its contents whole, stays as it is. True if it changed the
// graph.
bool number_references(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, const Budget& budget,
                       bool keep_assertions, const ir::Watch& watch = {});

// torch._foreach_*: a call for each member of lists that are known.
std::size_t expand_foreach(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget& budget,
                           const ir::Watch& watch = {});

// Dictionaries that are asked for one text, which the running model computes.
std::size_t settle_text_keys(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});

// Sparse tensors in coordinate form, where dense tensors do what reads them.
std::size_t expand_sparse_tensors(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                                  const ir::Watch& watch = {});

// ---- Control flow

std::size_t prune_branches(ir::Graph& graph, const ir::Watch& watch = {});
std::size_t simplify_loops(ir::Graph& graph,
                           const ir::Watch& watch = {});  // never run, run once, carried values that never change
std::size_t unroll_loops(ir::Graph& graph, Budget& budget, const ir::Watch& watch = {});

// ---- Clean-up

std::size_t merge_common_subexpressions(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});
// Removes nodes without effects whose outputs aren't read; needs no alias analysis.
std::size_t remove_unused(ir::Graph& graph, const ir::Watch& watch = {});
std::size_t remove_dead_code(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});

// ---- Writes

// Reads of an attribute that the call has set get the tensor that was set.
std::size_t forward_attributes(ir::Graph& graph, const ir::Watch& watch = {});
// Attributes that a call fills before it reads them, whole or in the same places each time, become tensors that the call makes.
std::size_t make_overwritten_attributes(ir::Graph& graph, const ir::Program& program, const schema::Registry& registry,
                                        const ir::Watch& watch = {});

// The same for dictionaries of which each call reads only keys that it has set before.
std::size_t make_refilled_dictionaries(ir::Graph& graph, const ir::Watch& watch = {});

// In a graph that writes, aten::reshape of a contiguous tensor becomes aten::view.
std::size_t settle_reshapes(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch = {});

// Calls of torch.autograd.Functions in a graph's text (`^MyClip(0.5)(%x)`) become calls of prim::PythonOp's overload of that
// name, whose plain arguments are inputs too. Of a Function whose schema nobody states one is assumed from its calls, and added.
void name_python_functions(ir::Graph& graph, schema::Registry& schemas, const ir::Watch& watch = {});

struct UnresolvedWrite {
  ir::Node* node = nullptr;
  std::string why;  // "writes through a view of %x", "writes a list that …"
};

// In-place operators become their functional forms, what reads the written tensor, its base or a view of it reads the new
// value, across branches and loops; as far as that can be proved (write_plan.h). Where the functional form may promote to
// another dtype than the written tensor's, the node gets the attribute `inplace`: its result has the dtype of its first
// argument. Writes to inputs no longer reach the caller's tensors: they are added to `lost`.
std::size_t functionalize_writes(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                                 std::vector<ir::LostWrite>* lost = nullptr, const ir::Watch& watch = {});

// The writes that are left.
std::vector<UnresolvedWrite> unresolved_writes(const ir::Graph& graph, const ir::Program* program,
                                               const schema::Registry& registry, const ir::Watch& watch = {});

}  // namespace compatcheck::passes
