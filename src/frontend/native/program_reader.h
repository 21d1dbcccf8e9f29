// A TorchScript archive as an ir::Program, read without libtorch.
#pragma once

#include <string>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"
#include "ir/program.h"
#include "ir/watch.h"

namespace compatcheck::frontend::native {

// `schemas`: of operators that nobody ships, as their users and libraries state them.
// Throws ModelError for a damaged archive or when the time is up; Unsupported (emitter.h) for one that only libtorch reads;
// UsageError for a schema that can't be read; Cancelled.
ir::Program read_program(const files::InputFile& file, const files::ZipDirectory& directory,
                         const std::vector<std::string>& schemas, const ir::Watch& watch = {});

}  // namespace compatcheck::frontend::native
