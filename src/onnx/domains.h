// Versions of the domains that ONNX has beside its own.
#pragma once

#include <optional>
#include <string_view>

namespace compatcheck::onnx {

// The newest; absent for ONNX's own domain, whose version is the opset, and for users'.
std::optional<int> newest_version(std::string_view domain);

}  // namespace compatcheck::onnx
