// A TorchScript archive as an ir::Program, read without libtorch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"
#include "ir/program.h"

namespace compatcheck::frontend::native {

struct ReadOptions {
  std::vector<std::string> schemas{};  // of operators that nobody ships, as their users state them
};

// Throws ModelError for a damaged archive; Unsupported (emitter.h) for one that only libtorch reads; UsageError for a schema that
// can't be read.
ir::Program read_program(const files::InputFile& file, const files::ZipDirectory& directory, const ReadOptions& options);

}  // namespace compatcheck::frontend::native
