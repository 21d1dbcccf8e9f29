// SHA-256 (FIPS 180-4), to name files by their content. Nothing here keeps a secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace compatcheck::files {

class Sha256 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  void add(std::string_view text);
  std::string finish() &&;  // 64 hexadecimal digits

 private:
  void block(const std::uint8_t* bytes);
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> rest_{};
  std::size_t rest_bytes_ = 0;
  std::uint64_t total_ = 0;
};

std::string sha256_of(std::span<const std::uint8_t> bytes);
std::string sha256_of_file(const std::filesystem::path& file);  // throws ModelError

}  // namespace compatcheck::files
