// The .debug_pkl beside each code file: which place of the user's own Python each piece of the code comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/pickle_tree.h"
#include "ir/location.h"

namespace compatcheck::frontend {

// Frames of recorded Python stacks. Those of all code files are one table: every call that was traced begins in the same script.
class StackFrames {
 public:
  // Returns the location of a line of a stack, "file.py(12): function"; null if it isn't one. The text must outlive the table.
  ir::LocationRef find(std::string_view line, const ir::LocationRef& caller);

 private:
  struct Key {
    std::string_view line;
    const ir::Location* caller;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.line) ^ std::hash<const void*>()(key.caller) << 1;
    }
  };
  std::unordered_map<Key, ir::LocationRef, Hash> known_;
};

// Read when first asked. A damaged file counts as an absent one: locations are a comfort, not the model.
class DebugRanges {
 public:
  // The pickle must outlive it and the frames.
  DebugRanges(std::span<const std::uint8_t> pickle, StackFrames& frames) : pickle_(pickle), frames_(frames) {}

  // Where the code at `offset` comes from; null if unknown. What tracing recorded is the whole Python stack: each
  // frame's caller is set.
  ir::LocationRef find(std::size_t offset);
  // Whether the code at `offset` was made by tracing; nullopt if unknown.
  std::optional<bool> traced(std::size_t offset);

  // The text that the code at `offset` comes from, and the part of it; nullopt if unknown.
  struct Source {
    std::string text, file;
    std::int64_t first_line = 0;
    std::size_t start = 0, end = 0;
  };
  std::optional<Source> source(std::size_t offset);

 private:
  // A function's text as the Python that made the model saw it, or the stack that the tracer wrote; in pieces, one a line.
  struct Text {
    std::vector<std::uint32_t> pieces;  // into strings_
    std::string file;
    std::int64_t first_line = 0;
    bool is_stack = false;
    // Computed at the first use:
    std::vector<std::size_t> begins;          // where each piece begins, in bytes
    std::vector<std::string_view> functions;  // the function around each piece
  };
  struct Range {
    std::size_t offset;
    std::size_t text;
    std::size_t start, end;
    ir::LocationRef location;
    bool located = false;
  };

  void read();
  void read_records();
  std::size_t add_text(const files::PickleTree& tree, files::PickleItemId source, bool string_table);
  std::uint32_t add_string(std::string_view text);
  Range* range_at(std::size_t offset);
  ir::LocationRef locate(const Range& range);
  void index_lines(Text& text);
  ir::LocationRef locate_in_stack(const Text& text);

  std::span<const std::uint8_t> pickle_;
  StackFrames& frames_;
  bool read_ = false;
  std::vector<std::string_view> strings_;  // the pickle's strings
  std::vector<Text> texts_;
  std::unordered_map<files::PickleItemId, std::size_t> text_of_tuple_;
  std::vector<Range> ranges_;  // sorted by offset
};

}  // namespace compatcheck::frontend
