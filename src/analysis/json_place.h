// A value of a JSON document with its place: errors name it by its keys, "findings[2].nodes".
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "compatcheck/error.h"

namespace compatcheck::analysis {

// Lives no longer than the place that it was reached from.
class JsonPlace {
 public:
  using Json = nlohmann::ordered_json;

  // Throws Json::parse_error for text that isn't JSON, ModelError for a number beyond doubles (1e999).
  static Json parse(std::string_view text) {
    try {
      return Json::parse(text);
    } catch (const Json::out_of_range&) {
      throw ModelError("holds a number that is beyond all bounds");
    }
  }

  explicit JsonPlace(const Json& json) : json_(json) {}

  // Throws ModelError, as all functions below do for another type or value than expected.
  [[noreturn]] void fail(const std::string& expected) const {
    throw ModelError((parent_ ? path() + ": " : "") + "expected " + expected);
  }

  JsonPlace at(std::string_view key) const {
    const auto found = member(key);
    if (!found) fail("a key \"" + std::string(key) + "\"");
    return {*found, this, key, 0};
  }

  std::optional<JsonPlace> maybe(std::string_view key) const {  // absent and null are the same
    const auto found = member(key);
    if (!found || found->is_null()) return std::nullopt;
    return JsonPlace(*found, this, key, 0);
  }

  JsonPlace item(std::size_t index) const {
    if (index >= size()) fail("an item " + std::to_string(index));
    return {json_[index], this, {}, index};
  }

  std::size_t size() const {
    if (!json_.is_array()) fail("a list");
    return json_.size();
  }

  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t i = 0; i < size(); ++i) visit(item(i));
  }

  template <class Visit>
  void members(const Visit& visit) const {
    if (!json_.is_object()) fail("an object");
    for (const auto& [key, value] : json_.items()) visit(key, JsonPlace(value, this, key, 0));
  }

  std::string text() const {
    if (!json_.is_string()) fail("a text");
    return json_.get<std::string>();
  }

  bool boolean() const {
    if (!json_.is_boolean()) fail("true or false");
    return json_.get<bool>();
  }

  template <class Number = int>
  Number count() const {
    const auto expected = [] { return "a whole number from 0 to " + std::to_string(std::numeric_limits<Number>::max()); };
    if (!json_.is_number_unsigned() ||
        json_.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
      fail(expected());
    return json_.get<Number>();
  }

  double number() const {
    if (!json_.is_number()) fail("a number");
    return json_.get<double>();
  }

  std::int64_t integer() const {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!json_.is_number_integer() || (json_.is_number_unsigned() && json_.get<std::uint64_t>() > most))
      fail("a whole number of 64 bits with a sign");
    return json_.get<std::int64_t>();
  }

  double share() const {
    if (!json_.is_number() || !(json_.get<double>() >= 0 && json_.get<double>() <= 1)) fail("a number from 0 to 1");
    return json_.get<double>();
  }

  const Json& json() const { return json_; }

 private:
  JsonPlace(const Json& json, const JsonPlace* parent, std::string_view key, std::size_t index)
      : json_(json), parent_(parent), key_(key), index_(index) {}

  const Json* member(std::string_view key) const {
    if (!json_.is_object()) fail("an object");
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  std::string path() const {
    if (!parent_) return {};
    const std::string before = parent_->path();
    if (key_.empty()) return before + "[" + std::to_string(index_) + "]";
    return before + (before.empty() ? "" : ".") + std::string(key_);
  }

  const Json& json_;
  const JsonPlace* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

}  // namespace compatcheck::analysis
