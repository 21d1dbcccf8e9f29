// In-place operators as operators that give what they would leave in the tensor or list they write.
#pragma once

#include <cstddef>
#include <optional>

#include "ir/graph.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// The operand that the node writes, where it has a functional form: the first, or the `out=` argument.
std::optional<std::size_t> written_by_form(const ir::Node& write, const schema::Registry& registry);

// x.t_(), x.unsqueeze_(0): nothing is written, but later uses of x find other sizes; views of it don't.
bool changes_its_sizes(const ir::Node& write);

// Returns the value of the tensor or list after the write; `current` is the one before. The node becomes its functional form, or
// is removed.
ir::Value* take_functional_form(ir::Node* write, ir::Value* current, const schema::Registry& registry);

// Whether the node was made from a write that keeps its tensor's dtype: the result has the dtype of the first argument.
// (TorchScript's own attribute `inplace`, of a Python function, means something else.)
bool keeps_first_dtype(const ir::Node& node);

}  // namespace compatcheck::passes
