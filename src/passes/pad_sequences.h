// torch.nn.utils.rnn.pad_sequence of a list whose length only the running model knows: a loop finds the longest sequence, another
// one pads each of them, and the padded ones are stacked.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// Only for a graph that isn't folded any more: lists that may still become known need no loops. Returns how many calls became
// loops.
std::size_t expand_pad_sequence(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch = {});

}  // namespace compatcheck::passes
