// Shared libraries that register operators when they are loaded (--op-library).
#pragma once

#include <string>
#include <vector>

namespace compatcheck::frontend::torchscript {

// Returns the schemas of every operator that libtorch knows now, sorted.
std::vector<std::string> registered_schemas();

// Each once in the life of the process. Gives the schemas of the operators that these registered. Throws UsageError with what the
// linker said and what to do.
std::vector<std::string> load_op_libraries(const std::vector<std::string>& paths);

}  // namespace compatcheck::frontend::torchscript
