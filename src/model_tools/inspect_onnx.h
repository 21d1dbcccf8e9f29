// The contents of an ONNX file.
#pragma once

#include <filesystem>
#include <memory>

#include "compatcheck/inspect.h"
#include "files/input_file.h"

namespace compatcheck::model_tools {

enum class Listed : bool { initializers, nodes_too };

// `folder`: where external data is looked for. Throws ModelError, without the file's name.
Inspection inspect_onnx(std::shared_ptr<const files::InputFile> file, const std::filesystem::path& folder,
                        const InspectOptions& options, Listed listed = Listed::nodes_too);

}  // namespace compatcheck::model_tools
