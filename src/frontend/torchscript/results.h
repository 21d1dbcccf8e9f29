// The results of a call, as constants that carry their bytes.
#pragma once

#include <ATen/core/ivalue.h>

#include "ir/constant.h"

namespace compatcheck::frontend::torchscript {

// Tensors come contiguous, quantized ones as the real numbers they stand for, sparse ones dense. Throws ModelError for what no
// caller can compare: objects, generators.
ir::Constant result_of(const c10::IValue& value);

}  // namespace compatcheck::frontend::torchscript
