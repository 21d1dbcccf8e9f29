// Marks on nodes for facts about their memory, as attributes. The graph may have changed since: a mark describes what
// PyTorch does, whatever the arguments are by now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace compatcheck::passes {

inline constexpr std::string_view view_mark = "view";    // the result is a view of the first argument: x.flatten()
inline constexpr std::string_view copy_mark = "copy";    // the result is new memory: x.contiguous() of a transposed x
inline constexpr std::string_view apart_mark = "apart";  // no two elements of the view share memory: x.expand_as(x)

inline bool is_marked(const ir::Node& node, std::string_view mark) { return node.attribute(mark) != nullptr; }
inline void mark(ir::Node* node, std::string_view mark) { node->set_attribute(std::string(mark), {std::int64_t{1}}); }

}  // namespace compatcheck::passes
