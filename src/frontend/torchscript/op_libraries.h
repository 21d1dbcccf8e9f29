// Shared libraries that register operators when they are loaded (--op-library).
#pragma once

#include <string>
#include <vector>

namespace compatcheck::frontend::torchscript {

// Each once in the life of the process. Throws UsageError with what the linker said and what to do.
void load_op_libraries(const std::vector<std::string>& paths);

}  // namespace compatcheck::frontend::torchscript
