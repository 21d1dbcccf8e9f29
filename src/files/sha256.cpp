#include "files/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "files/input_file.h"

namespace compatcheck::files {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

void Sha256::block(const std::uint8_t* bytes) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(bytes + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + words[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += added[i];
}

void Sha256::add(std::span<const std::uint8_t> bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    if (rest_bytes_ == 0 && bytes.size() >= rest_.size()) {
      block(bytes.data());
      bytes = bytes.subspan(rest_.size());
      continue;
    }
    const std::size_t filled = std::min(bytes.size(), rest_.size() - rest_bytes_);
    std::memcpy(rest_.data() + rest_bytes_, bytes.data(), filled);
    rest_bytes_ += filled;
    bytes = bytes.subspan(filled);
    if (rest_bytes_ < rest_.size()) break;
    block(rest_.data());
    rest_bytes_ = 0;
  }
}

void Sha256::add(std::string_view text) { add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }

std::string Sha256::finish() && {
  const std::uint64_t bits = total_ * 8;
  std::vector<std::uint8_t> padding(1, 0x80);
  padding.resize(1 + (119 - total_ % 64) % 64);
  for (int shift = 56; shift >= 0; shift -= 8) padding.push_back(static_cast<std::uint8_t>(bits >> shift));
  add(padding);
  std::string text;
  for (const std::uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

std::string sha256_of(std::span<const std::uint8_t> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return std::move(hash).finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const InputFile file(path);
  Sha256 hash;
  std::vector<std::uint8_t> buffer(1 << 20);
  for (std::uint64_t at = 0; at < file.size(); at += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - at)));
    file.read_into(at, buffer);
    hash.add(buffer);
  }
  return std::move(hash).finish();
}

}  // namespace compatcheck::files
