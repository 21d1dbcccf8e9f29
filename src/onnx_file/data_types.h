// TensorProto's data types, by number.
#pragma once

#include <cstdint>
#include <string>

namespace compatcheck::onnx_file {

// "f32", "i4", "string"; "type 77" for a number that ONNX doesn't use.
std::string dtype_name(std::int64_t data_type);
// Returns the bits of an element in raw_data; 0 for strings and unknown types.
unsigned bits_of(std::int64_t data_type);
// Returns the bytes of so many elements, rounded up; the highest number on overflow.
std::uint64_t bytes_of(std::int64_t data_type, std::uint64_t elements);

}  // namespace compatcheck::onnx_file
