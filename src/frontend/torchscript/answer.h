// The helper's answers to the tool's requests.
#pragma once

#include "frontend/protocol.h"

namespace compatcheck::frontend::torchscript {

// Throws ModelError, UsageError, InternalError, or what libtorch throws; protocol::serve turns them into replies.
protocol::Reply answer(const protocol::Request& request);

}  // namespace compatcheck::frontend::torchscript
