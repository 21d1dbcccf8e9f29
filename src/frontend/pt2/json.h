// A JSON document as one flat list of values, with bounded depth and size. It is stricter than most parsers: duplicate keys,
// text after the document and integers beyond 64 bits are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::frontend::pt2 {

class JsonDocument;

// A value of a document, which must outlive it.
class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, array, object };

  Kind kind() const;
  bool is(Kind expected) const { return kind() == expected; }
  bool is_null() const { return is(Kind::null); }

  // Throw ModelError with the path of the value where it is of another kind.
  std::string_view text() const;
  std::int64_t integer() const;
  double real() const;  // integers, and the texts "NaN", "Infinity" and "-Infinity", too
  bool boolean() const;
  std::string_view key() const;  // its key in the object that holds it; empty in arrays

  std::optional<Json> find(std::string_view key) const;  // nullopt: absent; null is a value
  Json at(std::string_view key) const;                   // throws where it is absent
  std::size_t size() const;                              // for an array or object
  std::vector<Json> members() const;                     // for an array or object, in the file's order

  // "graph_module.graph.nodes[3].target"
  std::string path() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class JsonDocument;
  Json(const JsonDocument& document, std::uint32_t place) : document_(&document), place_(place) {}

  const JsonDocument* document_;
  std::uint32_t place_;
};

class JsonDocument {
 public:
  // `name`: of the record, for messages. Throws ModelError.
  JsonDocument(std::span<const std::uint8_t> bytes, std::string name);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  Json root() const { return {*this, 0}; }
  const std::string& name() const { return name_; }
  // The tokens NaN, Infinity or -Infinity stand in it without quotes, as torch before 2.7 wrote them. They are read as texts.
  bool has_bare_numbers() const { return bare_; }

 private:
  friend class Json;
  class Builder;

  struct Item {
    Json::Kind kind{};
    std::uint32_t next = 0;                // the item after this one and all that it holds
    std::uint32_t key = 0, key_bytes = 0;  // position in texts_
    std::uint32_t text = 0, count = 0;     // position in texts_; bytes of a string, members of an array or object
    union {
      std::int64_t integer = 0;
      double real;
    };
  };

  std::string_view part(std::uint32_t start, std::uint32_t bytes) const { return std::string_view(texts_).substr(start, bytes); }

  std::string name_;
  std::string texts_;
  std::vector<Item> items_;
  bool bare_ = false;
};

}  // namespace compatcheck::frontend::pt2
