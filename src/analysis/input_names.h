// The names of a model's inputs and of their members: what --input may speak of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::analysis {

// A graph input, or a member of one that is a tuple: what --input speaks of.
struct InputLeaf {
  std::string name;         // "x", "pair.0"
  std::uint32_t input = 0;  // index among the graph's inputs
  ir::TypeRef type;
  std::string by_field{};  // "pair.left", if its tuple is a NamedTuple; otherwise empty
};
std::vector<InputLeaf> input_leaves(const ir::Graph& graph);

// The leaf of that name, or the container of a member of that name: the graph doesn't know members of lists and dicts. Null if
// neither.
const InputLeaf* find_leaf(const std::string& name, const std::vector<InputLeaf>& leaves);
// "the model's inputs are x, pair.0, pair.1, box.0 (box.left)"
std::string known_names(const std::vector<InputLeaf>& leaves);

// The name with places for fields of NamedTuples: "box.0" for "box.left". Other names stay as they are.
std::string with_places(const std::string& name, const ir::Graph& graph);

// The type of a member such as "k.a" of this leaf; the leaf's own if that is its name. Throws UsageError for one that there can't
// be, with those that the model reads. `text`: the option that names it.
ir::TypeRef member_type(std::string_view text, const std::string& member, const InputLeaf& leaf, const ir::Graph& graph,
                        bool may_be_unread = false);

// The same of any name, an input's or a member's; nullopt if an option can't name it.
std::optional<ir::TypeRef> type_named(const std::string& name, const ir::Graph& graph);

// Arguments that a call may leave out, by their number among the graph's inputs.
using Defaulted = std::span<const std::pair<std::size_t, ir::Constant>>;

// Returns the inputs that `count` options without names state: tensors and numbers in the order of the arguments, each member of
// a list or dictionary one of them. A list gets one option; if it is the only list, it gets all surplus options. Containers that
// may be None, and arguments with defaults behind the only list, are stated by name. Inputs stated by name get none.
std::vector<std::string> names_in_order(std::size_t count, const std::vector<std::string>& named, const ir::Graph& graph,
                                        Defaulted defaults);
std::vector<std::string> names_in_order(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults);

// Returns the members of the named list or dictionary, the leaf's own or one inside of it, that the model reads; nullopt if it
// may read others.
std::optional<std::vector<std::string>> members_read(const std::string& name, const InputLeaf& leaf, const ir::Graph& graph);

bool is_container_type(const ir::TypeRef& type);            // a list, dictionary or tuple
std::vector<std::string> places_of(const ir::Type& tuple);  // "0", "1", …

// Throws UsageError of an option --input.
[[noreturn]] void refuse(std::string_view text, const std::string& why);

}  // namespace compatcheck::analysis
