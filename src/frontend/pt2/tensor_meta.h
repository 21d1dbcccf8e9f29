// What the program's JSON says of a tensor: TensorMeta of torch/_export/serde/schema.py.
#pragma once

#include "frontend/pt2/json.h"
#include "ir/constant.h"
#include "ir/type.h"

namespace compatcheck::frontend::pt2 {

// Of a stored tensor, whose numbers are all known; its storage is left out. Throws ModelError, for layouts that aren't strided too.
ir::TensorView stored_view(const Json& meta);

// Of a value: dtype, rank, and the sizes that are numbers.
ir::TensorType value_type(const Json& meta);

}  // namespace compatcheck::frontend::pt2
