// Protobuf's encoding, as far as files are laid out by hand.
#pragma once

#include <cstdint>
#include <string>

namespace compatcheck::onnx {

inline constexpr std::uint64_t most_message_bytes = (2ull << 30) - 1;  // the most that protobuf reads
inline constexpr std::uint64_t external_alignment = 4096;              // of external data, which runtimes can then map

inline void put_varint(std::string& into, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) into.push_back(static_cast<char>(value | 0x80));
  into.push_back(static_cast<char>(value));
}

// The head of a length-delimited field.
inline std::string length_head(std::uint32_t field, std::uint64_t length) {
  std::string head;
  put_varint(head, std::uint64_t{field} << 3 | 2);
  put_varint(head, length);
  return head;
}

}  // namespace compatcheck::onnx
