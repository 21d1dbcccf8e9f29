// Walks protobuf's encoding in a file, without reading the contents that it skips.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/input_file.h"

namespace compatcheck::onnx_file {

// A field of a message: `number` of a varint, or `bytes` bytes at `at`.
struct WireField {
  std::uint32_t field = 0, wire = 0;
  std::uint64_t number = 0, at = 0, bytes = 0;
  std::uint64_t begin = 0, end = 0;  // whole field, including its head
};
inline constexpr std::uint32_t wire_varint = 0, wire_bytes = 2;

class WireReader {
 public:
  explicit WireReader(const files::InputFile& file) : file_(file) {}

  // The field at `at` of a message that ends at `end`. Throws ModelError, with the offset, for an invalid field.
  WireField field(std::uint64_t at, std::uint64_t end);
  void copy(std::uint64_t at, std::uint64_t bytes, std::string& onto);

 private:
  std::uint64_t varint(std::uint64_t& at, std::uint64_t end);
  std::uint8_t byte(std::uint64_t at);

  const files::InputFile& file_;
  std::vector<std::uint8_t> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace compatcheck::onnx_file
