// Calls whose dimension is known only when the model runs: ONNX's operators have axes as attributes.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

// x.sum(d) becomes `if d == 0: x.sum(0) else: x.sum(1)` where x has two dimensions. One argument of each call at a time. The
// graph must have no writes. Returns the number of changed calls; `copies` counts the copied calls of all rounds.
std::size_t settle_dimensions(ir::Graph& graph, const symbolic::FactTable& facts, const schema::Registry& schemas,
                              std::size_t& copies, const ir::Watch& watch);

}  // namespace compatcheck::conversion
