// Data as bytes that are compiled in. transfer() states each structure once, for both directions: who has structures of their own
// adds overloads beside them.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "mapping/row.h"

namespace compatcheck::mapping {

// Numbers are varints (7 bits a byte, the low ones first), texts are preceded by their length.
class Writer {
 public:
  explicit Writer(std::vector<std::string>& files) : files_(files) {}
  std::string take() { return std::move(bytes_); }

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void file(const std::string& name) {
    const auto found = std::find(files_.begin(), files_.end(), name);
    number(static_cast<std::uint64_t>(found - files_.begin()));
    if (found == files_.end()) files_.push_back(name);
  }

 private:
  std::vector<std::string>& files_;
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::span<const std::string_view> files) : bytes_(bytes), files_(files) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view text() { return take(number()); }
  std::string_view file() {
    const std::uint64_t index = number();
    if (index >= files_.size()) throw InternalError("compiled tables are broken");
    return files_[index];
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw InternalError("compiled tables are broken");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
  std::span<const std::string_view> files_;
};

inline void transfer(Writer& out, const std::string& value) { out.text(value); }
inline void transfer(Reader& in, std::string& value) { value = in.text(); }
inline void transfer(Writer& out, bool value) { out.number(value); }
inline void transfer(Reader& in, bool& value) { value = in.number() != 0; }
// Zigzag: small negative numbers stay short.
inline void transfer(Writer& out, std::int64_t value) {
  out.number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}
inline void transfer(Reader& in, std::int64_t& value) {
  const std::uint64_t coded = in.number();
  value = static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
}
inline void transfer(Writer& out, int value) { out.number(static_cast<std::uint64_t>(value)); }
inline void transfer(Reader& in, int& value) { value = static_cast<int>(in.number()); }
inline void transfer(Writer& out, double value) { out.number(std::bit_cast<std::uint64_t>(value)); }
inline void transfer(Reader& in, double& value) { value = std::bit_cast<double>(in.number()); }

template <class Enum>
  requires std::is_enum_v<Enum>
void transfer(Writer& out, Enum value) {
  out.number(static_cast<std::uint64_t>(value));
}
template <class Enum>
  requires std::is_enum_v<Enum>
void transfer(Reader& in, Enum& value) {
  value = static_cast<Enum>(in.number());
}

template <class T>
void transfer(Writer& out, const std::vector<T>& values);
template <class T>
void transfer(Reader& in, std::vector<T>& values);
template <class T>
void transfer(Writer& out, const std::optional<T>& value);
template <class T>
void transfer(Reader& in, std::optional<T>& value);
template <class A, class B>
void transfer(Writer& out, const std::pair<A, B>& value);
template <class A, class B>
void transfer(Reader& in, std::pair<A, B>& value);
inline void transfer(Writer& out, const std::shared_ptr<const Predicate>& value);
inline void transfer(Reader& in, std::shared_ptr<const Predicate>& value);
inline void transfer(Writer& out, const Literal& value);
inline void transfer(Reader& in, Literal& value);

template <class Archive, class... Fields>
void all(Archive& archive, Fields&... fields) {
  (transfer(archive, fields), ...);
}

// `T` is const when writing.
template <class T, class Plain>
concept is = std::same_as<std::remove_const_t<T>, Plain>;

template <class Archive, is<Place> T>
void transfer(Archive& archive, T& place) {
  if constexpr (std::same_as<Archive, Writer>)
    archive.file(place.file);
  else
    place.file = archive.file();
  all(archive, place.line, place.column);
}
template <class Archive, is<Predicate::Size> T>
void transfer(Archive& archive, T& size) {
  all(archive, size.dim, size.known, size.value);
}
template <class Archive, is<Predicate> T>
void transfer(Archive& archive, T& p) {
  all(archive, p.any_of, p.equals, p.each, p.length, p.elements, p.negated, p.min, p.max, p.none, p.constant, p.used, p.dtype,
      p.rank_known, p.rank, p.sizes);
}
template <class Archive, is<Condition> T>
void transfer(Archive& archive, T& c) {
  all(archive, c.argument, c.predicate, c.place);
}
template <class Archive, is<Binding> T>
void transfer(Archive& archive, T& b) {
  all(archive, b.kind, b.argument, b.constant, b.constant_is_list);
}

template <class T>
void transfer(Writer& out, const std::vector<T>& values) {
  out.number(values.size());
  for (const T& value : values) transfer(out, value);
}
template <class T>
void transfer(Reader& in, std::vector<T>& values) {
  values.clear();
  for (std::uint64_t count = in.number(); count > 0; --count) transfer(in, values.emplace_back());
}
template <class T>
void transfer(Writer& out, const std::optional<T>& value) {
  transfer(out, value.has_value());
  if (value) transfer(out, *value);
}
template <class T>
void transfer(Reader& in, std::optional<T>& value) {
  if (in.number() != 0)
    transfer(in, value.emplace());
  else
    value.reset();
}
template <class A, class B>
void transfer(Writer& out, const std::pair<A, B>& value) {
  all(out, value.first, value.second);
}
template <class A, class B>
void transfer(Reader& in, std::pair<A, B>& value) {
  all(in, value.first, value.second);
}

inline void transfer(Writer& out, const std::shared_ptr<const Predicate>& value) {
  transfer(out, value != nullptr);
  if (value) transfer(out, *value);
}
inline void transfer(Reader& in, std::shared_ptr<const Predicate>& value) {
  if (in.number() == 0) return value.reset();
  const auto made = std::make_shared<Predicate>();
  transfer(in, *made);
  value = made;
}
inline void transfer(Writer& out, const Literal& value) {
  out.number(value.index());
  std::visit(
      [&]<class T>(const T& held) {
        if constexpr (!std::same_as<T, std::monostate>) transfer(out, held);
      },
      value);
}
template <class T>
void read_as(Reader& in, Literal& value) {
  transfer(in, value.emplace<T>());
}
inline void transfer(Reader& in, Literal& value) {
  switch (in.number()) {
    case 0: value = std::monostate{}; break;
    case 1: read_as<bool>(in, value); break;
    case 2: read_as<std::int64_t>(in, value); break;
    case 3: read_as<double>(in, value); break;
    default: read_as<std::string>(in, value);
  }
}

}  // namespace compatcheck::mapping
