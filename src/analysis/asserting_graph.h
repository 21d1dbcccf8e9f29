// The graph as it was loaded, with the branches that only raise.
#pragma once

#include <cstdint>

#include "analysis/model_state.h"
#include "analysis/prepare.h"
#include "ir/graph.h"
#include "ir/watch.h"

namespace compatcheck::analysis {

// Whether there is more in it than in the model's own graph.
bool has_asserting_graph(const Model::State& model);
// Its inputs are named as the model's. Throws ModelError where its branches carry it beyond a bound.
// Made once; lives as long as the model.
const ir::Graph& asserting_graph(const Model::State& model, const ir::Watch& watch);
enum class Keeping : std::uint8_t { all, assertions };
// The same, with inputs as they are known of what was prepared without these branches; of `assertions`, only what they need.
Prepared prepare_asserting(const Model::State& model, const Prepared& prepared, const ir::Watch& watch, Keeping keeping);

}  // namespace compatcheck::analysis
