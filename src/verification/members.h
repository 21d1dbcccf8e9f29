// Values inside a graph, as bisecting compares them.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "mapping/table.h"
#include "schema/schema.h"

namespace compatcheck::verification {

// The member of lists, tuples and dictionaries at that path of indices; null if there is none.
const ir::Constant* member(const ir::Constant& whole, const std::vector<std::size_t>& path);

// Complex tensors as their real and imaginary parts, in a list: so conversion holds them. A copy is made of these alone.
ir::Constant in_parts(ir::Constant value);

// Complex tensors as real ones with a last dimension of 2: the same bytes.
ir::TensorView in_pairs(ir::TensorView view);
ir::Constant in_pairs(ir::Constant value);
// TorchScript's result in the form of the graph's output: lists of tuples, lists or dictionaries become lists of their parts.
ir::Constant in_columns(ir::Constant value, const ir::Value* output);

bool holds_tensors(const ir::Constant& value);  // lists must contain only tensors

// Whether PyTorch itself leaves the values open: uninitialised memory and random numbers. Only dtype and shape are compared.
bool is_arbitrary(const ir::Node& node, const mapping::Table& table, const schema::Registry& schemas);

}  // namespace compatcheck::verification
