// Half precision inside of a graph, by which the tolerance of its outputs goes.
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/dtype.h"
#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::verification {

// The narrowest float that a node gives on which a value hangs, if that is half precision (bf16 before f16). Values whose
// results depend on none are left out. The graph and its facts must fit each other.
using NarrowFloats = std::unordered_map<const ir::Value*, ir::DType>;
NarrowFloats narrow_floats(const ir::Graph& graph, const symbolic::FactTable& facts);

}  // namespace compatcheck::verification
