// Structures as bytes, for what passes between processes and for what is compiled in. transfer() states each structure once, for
// both directions: who has structures of their own adds overloads beside them. Reading never trusts a length.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "compatcheck/error.h"

namespace compatcheck::process {

class Writer {
 public:
  // A varint: 7 bits a byte, the low ones first, as most numbers are small.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value) | 0x80);
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void raw(std::span<const std::uint8_t> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  void blob(std::span<const std::uint8_t> data) {
    number(data.size());
    raw(data);
  }
  void text(std::string_view text) { blob({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }
  std::vector<std::uint8_t> take() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The bytes aren't what a Writer wrote.
struct Damaged : InternalError {
  explicit Damaged(const char* what) : InternalError(what) {}
};
struct CutShort : Damaged {
  CutShort() : Damaged("the bytes end too early") {}
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = raw(1).front();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (!(next & 0x80)) return value;
    }
    throw Damaged("a number is too long");
  }
  // How many items follow, each at least one byte long: bounds what a caller may reserve.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size()) throw CutShort();
    return static_cast<std::size_t>(value);
  }
  std::span<const std::uint8_t> raw(std::size_t size) {
    if (size > bytes_.size()) throw CutShort();
    const auto piece = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return piece;
  }
  std::span<const std::uint8_t> blob() { return raw(count()); }
  std::string_view text() {
    const auto data = blob();
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  // The place in a table that follows.
  template <class Table>
  const auto& of(const Table& table) {
    const std::uint64_t place = number();
    if (place >= table.size()) throw Damaged("an index is beyond its table");
    return table[static_cast<std::size_t>(place)];
  }
  void expect_end() const {
    if (!bytes_.empty()) throw Damaged("something follows the end");
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

template <class Archive>
concept Writes = std::derived_from<Archive, Writer>;
template <class Archive>
concept Reads = std::derived_from<Archive, Reader>;
// `T` is const when writing.
template <class T, class Plain>
concept is = std::same_as<std::remove_const_t<T>, Plain>;

template <class Archive, class... Fields>
void all(Archive& archive, Fields&... fields) {
  (transfer(archive, fields), ...);
}

template <class Archive, is<std::monostate> T>
void transfer(Archive&, T&) {}

template <std::unsigned_integral T>  // bool, too
void transfer(Writer& out, const T& value) {
  out.number(value);
}
template <std::unsigned_integral T>
void transfer(Reader& in, T& value) {
  const std::uint64_t number = in.number();
  value = static_cast<T>(number);
  if (value != number) throw Damaged("a number is too large");
}
template <std::signed_integral T>
void transfer(Writer& out, const T& value) {  // zigzag: small negative numbers stay short
  const std::int64_t number = value;
  out.number((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
}
template <std::signed_integral T>
void transfer(Reader& in, T& value) {
  const std::uint64_t coded = in.number();
  value = static_cast<T>((coded >> 1) ^ (~(coded & 1) + 1));
}
inline void transfer(Writer& out, const double& value) { out.number(std::bit_cast<std::uint64_t>(value)); }
inline void transfer(Reader& in, double& value) { value = std::bit_cast<double>(in.number()); }
inline void transfer(Writer& out, const std::complex<double>& value) {
  transfer(out, value.real());
  transfer(out, value.imag());
}
inline void transfer(Reader& in, std::complex<double>& value) {
  double real = 0, imaginary = 0;
  all(in, real, imaginary);
  value = {real, imaginary};
}
inline void transfer(Writer& out, const std::string& value) { out.text(value); }
inline void transfer(Reader& in, std::string& value) { value = in.text(); }

template <class Enum>
  requires std::is_enum_v<Enum>
void transfer(Writer& out, const Enum& value) {
  out.number(static_cast<std::uint64_t>(value));
}
template <class Enum>
  requires std::is_enum_v<Enum>
void transfer(Reader& in, Enum& value) {
  value = static_cast<Enum>(in.number());
}
// For an overload of an enumeration that comes from another process.
template <class Enum>
Enum up_to(Enum last, Reader& in) {
  const std::uint64_t number = in.number();
  if (number > static_cast<std::uint64_t>(last)) throw Damaged("an enumerator is unknown");
  return static_cast<Enum>(number);
}

template <Writes Archive, class T>
void transfer(Archive& out, const std::optional<T>& value);
template <Reads Archive, class T>
void transfer(Archive& in, std::optional<T>& value);
template <Writes Archive, class T>
void transfer(Archive& out, const std::shared_ptr<const T>& value);
template <Reads Archive, class T>
void transfer(Archive& in, std::shared_ptr<const T>& value);
template <Writes Archive>
void transfer(Archive& out, const std::vector<std::uint8_t>& value);
template <Reads Archive>
void transfer(Archive& in, std::vector<std::uint8_t>& value);
template <Writes Archive, class T>
void transfer(Archive& out, const std::vector<T>& values);
template <Reads Archive, class T>
void transfer(Archive& in, std::vector<T>& values);
template <Writes Archive, class Key, class T>
void transfer(Archive& out, const std::map<Key, T>& values);
template <Reads Archive, class Key, class T>
void transfer(Archive& in, std::map<Key, T>& values);
template <Writes Archive, class... T>
void transfer(Archive& out, const std::variant<T...>& value);
template <Reads Archive, class... T>
void transfer(Archive& in, std::variant<T...>& value);

template <Writes Archive, class A, class B>
void transfer(Archive& out, const std::pair<A, B>& value) {
  all(out, value.first, value.second);
}
template <Reads Archive, class A, class B>
void transfer(Archive& in, std::pair<A, B>& value) {
  all(in, value.first, value.second);
}

template <Writes Archive, class T>
void transfer(Archive& out, const std::optional<T>& value) {
  out.number(value.has_value());
  if (value) transfer(out, *value);
}
template <Reads Archive, class T>
void transfer(Archive& in, std::optional<T>& value) {
  value.reset();
  if (in.number()) transfer(in, value.emplace());
}
template <Writes Archive, class T>
void transfer(Archive& out, const std::shared_ptr<const T>& value) {
  out.number(value != nullptr);
  if (value) transfer(out, *value);
}
template <Reads Archive, class T>
void transfer(Archive& in, std::shared_ptr<const T>& value) {
  value = nullptr;
  if (!in.number()) return;
  auto made = std::make_shared<T>();
  transfer(in, *made);
  value = std::move(made);
}
template <Writes Archive>
void transfer(Archive& out, const std::vector<std::uint8_t>& value) {
  out.blob(value);
}
template <Reads Archive>
void transfer(Archive& in, std::vector<std::uint8_t>& value) {
  const auto data = in.blob();
  value.assign(data.begin(), data.end());
}
template <Writes Archive, class T>
void transfer(Archive& out, const std::vector<T>& values) {
  out.number(values.size());
  for (const T& value : values) transfer(out, value);
}
template <Reads Archive, class T>
void transfer(Archive& in, std::vector<T>& values) {
  values.clear();  // grown as they are read: lists in lists may each claim what is left
  for (std::size_t left = in.count(); left > 0; --left) transfer(in, values.emplace_back());
}
template <Writes Archive, class Key, class T>
void transfer(Archive& out, const std::map<Key, T>& values) {
  out.number(values.size());
  for (const auto& [key, value] : values) all(out, key, value);
}
template <Reads Archive, class Key, class T>
void transfer(Archive& in, std::map<Key, T>& values) {
  values.clear();
  for (std::size_t left = in.count(); left > 0; --left) {
    Key key;
    transfer(in, key);
    transfer(in, values[std::move(key)]);
  }
}
template <Writes Archive, class... T>
void transfer(Archive& out, const std::variant<T...>& value) {
  out.number(value.index());
  std::visit([&](const auto& held) { transfer(out, held); }, value);
}
template <Reads Archive, class... T>
void transfer(Archive& in, std::variant<T...>& value) {
  const std::uint64_t index = in.number();
  if (index >= sizeof...(T)) throw Damaged("a variant is unknown");
  std::uint64_t at = 0;
  ((at++ == index ? transfer(in, value.template emplace<T>()) : void()), ...);
}

}  // namespace compatcheck::process
