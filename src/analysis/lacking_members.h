// Which members example inputs lack that every call needs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/graph.h"

namespace compatcheck::analysis {

// The first member that is missing where the examples hold a part of a tuple, or a dictionary without a key that the model reads
// in every call: what is wrong with the examples, "holds no 'box.1' (box.right), …". `by_example`: the names of what they hold,
// and of dictionaries without members. `by_option`: the names that options state; they may state the rest.
std::optional<std::string> lacking_member(std::span<const std::string> by_example, std::span<const std::string> by_option,
                                          const ir::Graph& graph);

}  // namespace compatcheck::analysis
