// A TorchScript archive as an ir::Program, read without libtorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"
#include "ir/program.h"
#include "ir/watch.h"

namespace compatcheck::frontend::native {

// Schemas of operators outside PyTorch, as stated by:
struct OtherSchemas {
  std::vector<std::string> users{};      // users' rows
  std::vector<std::string> libraries{};  // loaded libraries
};

// Why a model with hooks is refused by both readers.
inline constexpr std::string_view top_hooks =
    "its top module has forward hooks: PyTorch runs them when the module is called, and an ONNX model of `forward` would leave "
    "them "
    "out; call them in forward, or remove them before saving";

// Throws ModelError for a damaged archive or when the time is up; Unsupported (emitter.h) for one that only libtorch reads;
// TableError for a schema that can't be read; Cancelled.
ir::Program read_program(const files::InputFile& file, const files::ZipDirectory& directory, const OtherSchemas& schemas = {},
                         const ir::Watch& watch = {});

}  // namespace compatcheck::frontend::native
