// Bytes written and read in one order on both sides of the helper's socket. Reading never trusts a length.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/error.h"

namespace compatcheck::frontend::wire {

class Writer {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(value); }
  void boolean(bool value) { byte(value ? 1 : 0); }

  void unsigned_number(std::uint64_t value) {  // LEB128: most numbers are small
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value) | 0x80);
    byte(static_cast<std::uint8_t>(value));
  }
  void number(std::int64_t value) {  // zigzag: -1 is one byte too
    const auto bits = static_cast<std::uint64_t>(value);
    unsigned_number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  void string(std::string_view text) {
    unsigned_number(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void blob(std::span<const std::uint8_t> data) {
    unsigned_number(data.size());
    raw(data);
  }
  void raw(std::span<const std::uint8_t> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }

  std::size_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> take() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Throws ModelError where the bytes end too early or say what can't be.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ == bytes_.size()) cut_short();
    return bytes_[at_++];
  }
  bool boolean() { return byte() != 0; }

  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (!(next & 0x80)) return value;
    }
    damaged("a number is too long");
  }
  std::int64_t number() {
    const std::uint64_t bits = unsigned_number();
    return static_cast<std::int64_t>((bits >> 1) ^ (bits & 1 ? ~std::uint64_t{0} : 0));
  }
  double real() {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 8) bits |= static_cast<std::uint64_t>(byte()) << shift;
    return std::bit_cast<double>(bits);
  }
  // How many items follow, each at least one byte long: bounds what a caller may reserve.
  std::size_t count() {
    const std::uint64_t value = unsigned_number();
    if (value > left()) cut_short();
    return static_cast<std::size_t>(value);
  }
  std::string string() {
    const auto text = blob();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  std::span<const std::uint8_t> blob() {
    const std::size_t size = count();
    const auto data = bytes_.subspan(at_, size);
    at_ += size;
    return data;
  }

  std::size_t left() const { return bytes_.size() - at_; }
  void expect_end() const {
    if (left() != 0) damaged("something follows its end");
  }
  [[noreturn]] static void cut_short() { throw ModelError("the loader's answer is cut short"); }
  [[noreturn]] static void damaged(const char* what) { throw ModelError(std::string("the loader's answer is damaged: ") + what); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace compatcheck::frontend::wire
