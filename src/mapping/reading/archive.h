// Rows, conditions and places as bytes that are compiled in.
#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/row.h"
#include "process/transfer.h"

namespace compatcheck::mapping {

using process::all;
using process::is;

// Names of files are written once and then named by number.
class Writer : public process::Writer {
 public:
  explicit Writer(std::vector<std::string>& files) : files_(files) {}

  void file(const std::string& name) {
    const auto found = std::find(files_.begin(), files_.end(), name);
    number(static_cast<std::uint64_t>(found - files_.begin()));
    if (found == files_.end()) files_.push_back(name);
  }
  std::string take() && {
    const auto bytes = std::move(*this).process::Writer::take();
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::vector<std::string>& files_;
};

class Reader : public process::Reader {
 public:
  Reader(std::string_view bytes, std::span<const std::string_view> files)
      : process::Reader({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}), files_(files) {}
  std::string_view file() { return of(files_); }

 private:
  std::span<const std::string_view> files_;
};

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

}  // namespace compatcheck::mapping
