// The format: torch/csrc/jit/serialization/source_range_serialization.cpp.
#include "frontend/debug_ranges.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace compatcheck::frontend {
namespace {

using files::PickleItem;
using files::PickleItemId;

constexpr std::size_t most_debug_items = 20'000'000;

std::string_view trimmed_source(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// "file.py(12): function\n", a line of the stack that the tracer records.
struct StackFrame {
  std::string_view file, function;
  int line = 0;
};

std::optional<StackFrame> parse_frame(std::string_view text) {
  text = trimmed_source(text);
  const auto close = text.rfind("): ");
  if (close == text.npos) return std::nullopt;
  const auto open = text.rfind('(', close);
  if (open == text.npos || open == 0) return std::nullopt;
  StackFrame frame{text.substr(0, open), text.substr(close + 3), 0};
  const auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + close, frame.line);
  if (error != std::errc{} || end != text.data() + close) return std::nullopt;
  return frame;
}

constexpr std::size_t longest_source = 200;  // longest source line in the report

}  // namespace

void DebugRanges::read() {
  if (read_) return;
  read_ = true;
  try {
    read_records();
  } catch (const std::exception&) {
    ranges_.clear();
  }
}

void DebugRanges::read_records() {
  const files::PickleTree tree = files::read_pickle(pickle_, most_debug_items);
  const auto members = [&](PickleItemId id) -> const files::PickleMembers& { return tree.items[id].members; };
  const auto integer = [&](PickleItemId id) { return tree.items[id].integer; };
  const files::PickleMembers& parts = members(tree.root);
  if (parts.empty()) return;
  const bool string_table = tree.items[parts[0]].text == "FORMAT_WITH_STRING_TABLE";
  if (string_table)
    for (const PickleItemId text : members(parts.at(1))) strings_.push_back(tree.items[text].text);
  for (const PickleItemId record : string_table ? members(parts.at(2)) : parts) {
    // Before tags existed a record was (offset, range); then (offset, range, tag).
    const auto& fields = members(record);
    const auto& range = members(fields.at(1));
    ranges_.push_back({static_cast<std::size_t>(integer(fields.at(0))),
                       add_text(tree, range.at(0), string_table),
                       static_cast<std::size_t>(integer(range.at(1))),
                       static_cast<std::size_t>(integer(range.at(2))),
                       {},
                       false});
  }
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
}

std::uint32_t DebugRanges::add_string(std::string_view text) {
  strings_.push_back(text);
  return static_cast<std::uint32_t>(strings_.size() - 1);
}

std::size_t DebugRanges::add_text(const files::PickleTree& tree, PickleItemId source, bool string_table) {
  const auto [found, fresh] = text_of_tuple_.emplace(source, texts_.size());
  if (!fresh) return found->second;
  const auto item = [&](PickleItemId id) -> const PickleItem& { return tree.items[id]; };
  const auto& fields = item(source).members;
  Text text;
  if (string_table) {
    const PickleItem* pieces = &item(fields.at(0));  // a list, or build_intlist(list)
    if (pieces->kind == PickleItem::Kind::call) pieces = &item(item(pieces->members.at(1)).members.at(0));
    for (const PickleItemId each : pieces->members) {
      const std::int64_t piece = item(each).integer;
      if (piece < 0 || static_cast<std::size_t>(piece) >= strings_.size()) throw std::out_of_range("no such text");
      text.pieces.push_back(static_cast<std::uint32_t>(piece));
    }
    text.file = strings_.at(static_cast<std::size_t>(item(fields.at(1)).integer));
  } else {
    std::string_view rest = item(fields.at(0)).text;
    while (!rest.empty()) {
      const auto size = std::min(rest.find('\n'), rest.size() - 1) + 1;
      text.pieces.push_back(add_string(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    text.file = item(fields.at(1)).text;
  }
  text.first_line = item(fields.at(2)).integer;
  const auto first = text.pieces.empty() ? std::nullopt : parse_frame(strings_[text.pieces.front()]);
  text.is_stack = first && first->file == text.file;
  texts_.push_back(std::move(text));
  return texts_.size() - 1;
}

DebugRanges::Range* DebugRanges::range_at(std::size_t offset) {
  read();
  auto next = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                               [](std::size_t place, const Range& range) { return place < range.offset; });
  return next == ranges_.begin() ? nullptr : &*(next - 1);
}

std::optional<bool> DebugRanges::traced(std::size_t offset) {
  const Range* range = range_at(offset);
  if (!range || texts_[range->text].pieces.empty()) return std::nullopt;
  return texts_[range->text].is_stack;
}

ir::LocationRef DebugRanges::find(std::size_t offset) {
  Range* range = range_at(offset);
  if (!range) return nullptr;
  if (!range->located) range->location = locate(*range);
  range->located = true;
  return range->location;
}

void DebugRanges::index_lines(Text& text) {
  if (!text.begins.empty()) return;
  std::size_t begin = 0;
  std::string_view function;
  for (const std::uint32_t piece : text.pieces) {
    const std::string_view line = trimmed_source(strings_[piece]);
    if (line.starts_with("def ")) function = trimmed_source(line.substr(4, line.find('(') - 4));
    text.begins.push_back(begin);
    text.functions.push_back(function);
    begin += strings_[piece].size();
  }
  text.begins.push_back(begin);
}

ir::LocationRef DebugRanges::locate(const Range& range) {
  Text& text = texts_[range.text];
  if (text.is_stack) return locate_in_stack(text);
  if (text.file.empty() || text.pieces.empty()) return nullptr;
  index_lines(text);
  if (range.start >= text.begins.back()) return nullptr;
  const auto next = std::upper_bound(text.begins.begin(), text.begins.end(), range.start);
  const auto line = static_cast<std::size_t>(next - text.begins.begin()) - 1;
  ir::Location found;
  found.file = text.file;
  found.line = static_cast<int>(text.first_line + static_cast<std::int64_t>(line));
  found.column = static_cast<int>(range.start - text.begins[line]) + 1;
  found.function = text.functions[line];
  found.text = trimmed_source(std::string_view(strings_[text.pieces[line]]).substr(0, longest_source));
  return std::make_shared<const ir::Location>(std::move(found));
}

// The innermost frame stands first.
ir::LocationRef DebugRanges::locate_in_stack(const Text& text) {
  ir::LocationRef place;
  for (std::size_t i = text.pieces.size(); i > 0; --i)
    if (ir::LocationRef inner = frames_.find(strings_[text.pieces[i - 1]], place)) place = std::move(inner);
  return place;
}

ir::LocationRef StackFrames::find(std::string_view line, const ir::LocationRef& caller) {
  const auto [known, fresh] = known_.try_emplace(Key{line, caller.get()});
  const auto parsed = fresh ? parse_frame(line) : std::nullopt;
  if (!parsed) return known->second;
  ir::Location place;
  place.file = parsed->file;
  place.line = parsed->line;
  place.function = parsed->function;
  place.caller = caller;
  return known->second = std::make_shared<const ir::Location>(std::move(place));
}

std::optional<DebugRanges::Source> DebugRanges::source(std::size_t offset) {
  const Range* found = range_at(offset);
  if (!found || texts_[found->text].pieces.empty()) return std::nullopt;
  const Text& text = texts_[found->text];
  Source source{{}, text.file, text.first_line, found->start, found->end};
  for (const std::uint32_t piece : text.pieces) source.text += strings_[piece];
  if (source.start > source.end || source.end > source.text.size()) return std::nullopt;
  return source;
}

}  // namespace compatcheck::frontend
