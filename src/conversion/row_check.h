// Shipped rows name what their handlers emit, plumbing aside: an internal error where they don't. Checked in debug builds, and
// where the environment's COMPATCHECK_CHECK_ROWS is "1", as the tests have it. Where it is the path of a file nothing is thrown,
// and the file gets a line of each operator that a row was seen to emit, "FILE:LINE:COLUMN operator", and of each row that is
// wrong, "! message". A call without nodes is a Constant where its results are known, else an Identity.
#pragma once

#include <span>

#include "mapping/table.h"
#include "onnx/builder.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

void check_row(const symbolic::Call& call, const mapping::Row& row, std::span<const onnx::Emitted> emitted, bool known,
               const mapping::Table& table, int opset);

}  // namespace compatcheck::conversion
