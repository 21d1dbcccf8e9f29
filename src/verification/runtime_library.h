// Where ONNX Runtime's library is.
#pragma once

#include <filesystem>

namespace compatcheck::verification {

// `named`: the library, or a folder that holds it; if empty, COMPATCHECK_ORT_LIBRARY, beside the program, or the package of the
// active Python environment. Throws UsageError with the places where it looked.
std::filesystem::path find_library(const std::filesystem::path& named);

}  // namespace compatcheck::verification
