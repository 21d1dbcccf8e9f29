// Writing a skeleton as a model file, its far elements copied from the files that they lie in.
#pragma once

#include <cstdint>
#include <filesystem>

#include "compatcheck/convert.h"
#include "compatcheck/run.h"
#include "onnx_file/external_data.h"
#include "onnx_file/skeleton.h"

namespace compatcheck::onnx_file {

struct Written {
  std::uint64_t bytes = 0, external_bytes = 0;
};

// The file, and FILE.data beside it where tensors lie apart, appear whole or not at all. `externals`: of the model that the
// skeleton was read from. Throws ModelError where external data is missing, UsageError where the file can't be written.
Written write_skeleton(Skeleton& skeleton, ExternalFiles& externals, const std::filesystem::path& file,
                       ExternalData external_data, const RunOptions& run);

}  // namespace compatcheck::onnx_file
