// Shipped rows name the ONNX operators that their handlers emit, except plumbing; a wrong row is an internal error. Checked in
// debug builds, and if COMPATCHECK_CHECK_ROWS is set, as in the tests. If it is the path of a file, the file gets a line for each
// operator that a row emitted, "FILE:LINE:COLUMN operator". A call without nodes is a Constant if its results are known, else an
// Identity.
#pragma once

#include <span>

#include "mapping/table.h"
#include "onnx/builder.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

void check_row(const symbolic::Call& call, const mapping::Row& row, std::span<const onnx::Emitted> emitted, bool known,
               const mapping::Table& table, int opset);

}  // namespace compatcheck::conversion
