// One loop whose number of iterations is known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/graph.h"
#include "passes/budget.h"

namespace compatcheck::passes {

// Called after each copy of the body is in place, with its first node.
using CopiedBody = std::function<void(ir::Node* first)>;

// Puts copies of the body in the place of the loop, if the number of its iterations is known, and if the copies are worth it and
// within the budget.
bool unroll_loop(ir::Node* loop, Budget& budget, const CopiedBody& copied = {});

// How often a loop runs that stays because its copies would exceed the budget; nullopt for other loops.
std::optional<std::int64_t> iterations_beyond_budget(const ir::Node& loop);

// How many nodes the copies of the block's loops would have whose number of iterations is known; at most a million.
std::size_t nodes_in_copies(const ir::Block& block);

// Whether the value is a number that is larger in each iteration of the loop that owns it, and never negative: the number of the
// iteration, or one that is carried and counted up from 0 or more.
bool counts_up(const ir::Value* value);

// The loop runs at least once in each run that PyTorch doesn't refuse: the number is known, or a list that the loop fills is
// joined.
bool runs_at_least_once(const ir::Node& loop);

}  // namespace compatcheck::passes
