// The description of a tensor in the program's JSON: TensorMeta of torch/_export/serde/schema.py.
#pragma once

#include <span>
#include <string>

#include "frontend/pt2/json.h"
#include "ir/constant.h"
#include "ir/type.h"

namespace compatcheck::frontend::pt2 {

// The view of a stored tensor, without its storage. Throws ModelError if a size is not a number, or the layout is not strided.
ir::TensorView stored_view(const Json& meta);

// The type of a value: dtype, rank, and the sizes that are numbers.
ir::TensorType value_type(const Json& meta);

// Whether elements lie in memory in the order of the dimensions, as far as the strides are numbers.
bool is_row_major(const Json& meta);

// A size or stride as text: a number or an expression over symbols. Empty: not known.
std::string spell_size(const Json& size);
// Whether the value has these sizes and strides, from its first element on, in the order of its dimensions. Strides of dimensions
// of size 1 don't count.
bool has_layout(const Json& meta, std::span<const std::string> sizes, std::span<const std::string> strides);

}  // namespace compatcheck::frontend::pt2
