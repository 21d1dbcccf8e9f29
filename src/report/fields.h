// The JSON of reports, each field once for writing and for reading.
#pragma once

#include <concepts>
#include <map>
#include <type_traits>

#include "analysis/json_place.h"
#include "process/transfer.h"
#include "report/enumerator_names.h"
#include "report/json_parts.h"

namespace compatcheck::report {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

using process::is;

class FieldWriter {
 public:
  static constexpr bool writes = true;
  // `keeps`: the export type may leave calls as PyTorch's operators, which are counted.
  explicit FieldWriter(bool keeps = false) : keeps_(keeps) {}

  // Keys and values by turns. An optional that is absent becomes null.
  template <class T, class... More>
  void operator()(const char* key, const T& value, const More&... more) {
    json[key] = of(value);
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }
  // Left out where it is empty, or false.
  template <class T>
  void unless_empty(const char* key, const T& value) {
    if constexpr (requires { value.empty(); }) {
      if (!value.empty()) (*this)(key, value);
    } else {
      if (value) (*this)(key, value);
    }
  }
  // Earlier versions didn't write it.
  template <class T>
  void added(const char* key, const T& value) {
    (*this)(key, value);
  }
  // From 0 to 1.
  void share(const char* key, double value) { (*this)(key, value); }
  template <class T>
  void if_kept(const char* key, const T& value) {
    if (keeps_) (*this)(key, value);
  }
  template <class Fields>
  void object(const char* key, const Fields& inner) {
    FieldWriter writer(keeps_);
    inner(writer);
    json[key] = std::move(writer.json);
  }

  template <class T>
  Json of(const T& value) const {
    if constexpr (std::is_enum_v<T>) {
      return word(value);
    } else if constexpr (is_optional<T>) {
      return value ? of(*value) : Json(nullptr);
    } else if constexpr (is_list<T>) {
      Json list = Json::array();
      for (const auto& each : value) list.push_back(of(each));
      return list;
    } else if constexpr (std::same_as<T, std::map<std::string, int>>) {
      Json members = Json::object();
      for (const auto& [name, count] : value) members[name] = count;
      return members;
    } else if constexpr (std::is_class_v<T> && !std::same_as<T, std::string>) {
      FieldWriter inner(keeps_);
      fields(inner, value);
      return std::move(inner.json);
    } else {
      return value;
    }
  }

  Json json = Json::object();

 private:
  bool keeps_;
};

// Unknown keys are ignored: a later version may have added them. Throws ModelError if something is missing or wrong.
class FieldReader {
 public:
  static constexpr bool writes = false;
  explicit FieldReader(const analysis::JsonPlace& at) : place(at) {}

  template <class T, class... More>
  void operator()(const char* key, T& value, More&&... more) {
    if constexpr (is_optional<T>)
      unless_empty(key, value);
    else
      read(place.at(key), value);
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }
  template <class T>
  void unless_empty(const char* key, T& value) {
    const auto found = place.maybe(key);
    if (!found) return;
    if constexpr (is_optional<T>)
      read(*found, value.emplace());
    else
      read(*found, value);
  }
  template <class T>
  void added(const char* key, T& value) {
    unless_empty(key, value);
  }
  void share(const char* key, double& value) { value = place.at(key).share(); }
  template <class T>
  void if_kept(const char* key, T& value) {
    unless_empty(key, value);
  }
  template <class Fields>
  void object(const char* key, const Fields& inner) {
    const analysis::JsonPlace at = place.at(key);
    FieldReader reader(at);
    inner(reader);
  }

  template <class T>
  static void read(const analysis::JsonPlace& from, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto found = spelled<T>(from.text());
      if (!found) from.fail("one of " + words_of<T>());
      value = *found;
    } else if constexpr (std::same_as<T, std::string>) {
      value = from.text();
    } else if constexpr (std::same_as<T, bool>) {
      value = from.boolean();
    } else if constexpr (std::same_as<T, std::int64_t>) {
      value = from.integer();
    } else if constexpr (std::integral<T>) {  // a count, signed or unsigned
      value = from.count<T>();
    } else if constexpr (std::same_as<T, double>) {
      value = from.number();
    } else if constexpr (is_list<T>) {
      from.each([&](const analysis::JsonPlace& each) { read(each, value.emplace_back()); });
    } else if constexpr (std::same_as<T, std::map<std::string, int>>) {
      from.members([&](const std::string& name, const analysis::JsonPlace& count) { value[name] = count.count(); });
    } else {
      FieldReader inner(from);
      fields(inner, value);
    }
  }

  const analysis::JsonPlace& place;
};

}  // namespace compatcheck::report
