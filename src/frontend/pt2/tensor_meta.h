// The description of a tensor in the program's JSON: TensorMeta of torch/_export/serde/schema.py.
#pragma once

#include "frontend/pt2/json.h"
#include "ir/constant.h"
#include "ir/type.h"

namespace compatcheck::frontend::pt2 {

// The view of a stored tensor, without its storage. Throws ModelError if a size is not a number, or the layout is not strided.
ir::TensorView stored_view(const Json& meta);

// The type of a value: dtype, rank, and the sizes that are numbers.
ir::TensorType value_type(const Json& meta);

}  // namespace compatcheck::frontend::pt2
