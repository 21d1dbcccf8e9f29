// A folder of ONNX's test data: input_0.pb, input_1.pb …, each a TensorProto.
#pragma once

#include <filesystem>

#include "examples/examples.h"
#include "files/input_file.h"
#include "ir/constant.h"

namespace compatcheck::examples {

struct NamedTensor {
  std::string name;  // empty if the file gives none
  ir::Constant tensor;
};

// Throws ModelError, without the file's name.
NamedTensor read_tensor_proto(const files::InputFile& file);

// A dict of tensors by the names that the files give them, or else "input_0" …, in the order of the numbers. Throws
// ModelError.
ir::Constant read_proto_folder(const std::filesystem::path& folder, Elements elements);

}  // namespace compatcheck::examples
