// Lists to which a loop appends one tensor per iteration, and of which only the stack and the length are read afterwards. ONNX's
// Loop stacks what each iteration produces (its scan outputs), at every opset and without copying a list in each iteration.
//
// The carried list becomes a carried tensor: unset before the loop, and in the body prim::StackAppend(%stack, %x), which is `x`
// with a new first dimension in the first iteration, and gets one more row per iteration. Nothing else in the body reads it.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

inline constexpr std::string_view stack_append = "prim::StackAppend";

// Whether carried value `i` of a prim::Loop is such a stack.
bool is_stacked(const ir::Node& loop, std::size_t i);
bool stacks_anything(const ir::Node& loop);

// Only for a graph that isn't folded any more: no other pass expects stacks. Returns how many lists became one.
std::size_t stack_in_loops(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch = {});

}  // namespace compatcheck::passes
