// YAML as a tree in which everything knows its place. Tables are data, so anchors, aliases, tags, several documents,
// deep nesting and huge files are refused; repeated keys too, which yaml-cpp lets pass.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "mapping/row.h"

namespace compatcheck::mapping::yaml {

struct Pair;

struct Node {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;     // scalar
  bool quoted = false;  // a quoted or block scalar is a string whatever it looks like
  std::vector<Node> items;
  std::vector<Pair> pairs;   // in the file's order
  int line = 0, column = 0;  // count from 1, in characters

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
};

struct Pair {
  Node first, second;  // key, value
};

// A TableError that keeps its parts.
struct DefectError : TableError {
  DefectError(mapping::Defect defect, std::string_view line);
  mapping::Defect defect;
};

inline constexpr std::size_t max_bytes = 1 << 20;
inline constexpr std::size_t max_line = 4096;  // bytes; also what keeps columns cheap
inline constexpr int max_depth = 24;

// A file's text, for messages.
class Source {
 public:
  Source(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // byte order mark
  }
  std::string_view text() const { return text_; }
  const std::string& name() const { return name_; }
  Place place(const Node& node) const { return {name_, node.line, node.column}; }

 private:
  std::string_view text_;
  std::string name_;
};

// Line `line` of `text`, from 1, without its line break; empty beyond the end.
std::string_view line_of(std::string_view text, int line);

// "file:line:column: message", the line, and a caret under the column.
std::string describe(const Place& place, std::string_view message, std::string_view line);

// Throws DefectError.
[[noreturn]] void fail(const Source& source, const Node& node, const std::string& message);
[[noreturn]] void fail(const Source& source, const Place& place, const std::string& message);

// The one document of `source`; an empty one is null. Throws DefectError.
Node parse(const Source& source);

}  // namespace compatcheck::mapping::yaml
