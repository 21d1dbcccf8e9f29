// ONNX's types that no tensor of PyTorch has: they aren't ir::DType, but files and profiles name them.
#pragma once

#include <cstdint>
#include <string_view>

namespace compatcheck::engines {

std::string_view other_type_from_data_type(std::int64_t number);  // "string", "i4"; empty: none of these
bool is_other_type(std::string_view name);

}  // namespace compatcheck::engines
