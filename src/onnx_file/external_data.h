// Tensors whose elements lie in a file beside the model.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "compatcheck/inspect.h"
#include "onnx_file/skeleton.h"

namespace compatcheck::onnx_file {

bool is_external(const ::onnx::TensorProto& tensor);
// Elements by dims, and the bytes that they take; nullopt where dims are negative or too many.
std::optional<std::uint64_t> element_count(const ::onnx::TensorProto& tensor);

class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // With what is wrong with it; the file is looked at, not read.
  ExternalPlace place(const ::onnx::TensorProto& tensor);
  // Throws ModelError where place() has a problem.
  FarElements elements(const ::onnx::TensorProto& tensor);
  std::optional<std::uint64_t> size(const std::string& location);  // nullopt if it can't be opened

 private:
  struct Opened {
    std::shared_ptr<const files::InputFile> file;
    std::string problem;
  };
  const Opened& open(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, Opened> files_;
};

}  // namespace compatcheck::onnx_file
