// A model file as an ir::Program.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

// `schemas`: of operators that nobody ships, as their users state them.
// Throws ModelError, UsageError for a schema that can't be read, or an exception of libtorch's.
ir::Program read_program(const std::string& path, const std::vector<std::string>& schemas);

}  // namespace compatcheck::frontend::torchscript
