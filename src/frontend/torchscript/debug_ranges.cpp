// The format: torch/csrc/jit/serialization/source_range_serialization.cpp.
#include "frontend/torchscript/debug_ranges.h"

#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace compatcheck::frontend::torchscript {
namespace {

std::string_view trimmed_source(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// "file.py(12): function\n", a line of the stack that the tracer records.
struct Frame {
  std::string_view file, function;
  int line = 0;
};

std::optional<Frame> parse_frame(std::string_view text) {
  text = trimmed_source(text);
  const auto close = text.rfind("): ");
  if (close == text.npos) return std::nullopt;
  const auto open = text.rfind('(', close);
  if (open == text.npos || open == 0) return std::nullopt;
  Frame frame{text.substr(0, open), text.substr(close + 3), 0};
  const auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + close, frame.line);
  if (error != std::errc{} || end != text.data() + close) return std::nullopt;
  return frame;
}

constexpr std::size_t longest_source = 200;  // of a source line, for the report

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
  const auto* data = reinterpret_cast<const char*>(pickle_.data());
  const auto whole = torch::jit::unpickle(data, pickle_.size()).toTuple();
  const auto& parts = whole->elements();
  if (parts.empty()) return;
  const bool string_table = parts[0].isString() && parts[0].toStringRef() == torch::jit::kFormatWithStringTable;
  if (string_table)
    for (const c10::IValue& text : parts.at(1).toTupleRef().elements()) strings_.push_back(text.toStringRef());
  const auto& records = string_table ? parts.at(2).toTupleRef().elements() : parts;
  for (const c10::IValue& record : records) {
    const auto& fields = record.toTupleRef().elements();
    // Before tags existed a record was (offset, range); then (offset, range, tag).
    const auto& range = fields.at(torch::jit::kSourceRangeIndex).toTupleRef().elements();
    ranges_.push_back({static_cast<std::size_t>(fields.at(torch::jit::kByteOffsetIndex).toInt()),
                       add_text(range.at(0), string_table),
                       static_cast<std::size_t>(range.at(1).toInt()),
                       static_cast<std::size_t>(range.at(2).toInt()),
                       {},
                       false});
  }
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  text_of_tuple_.clear();  // its keys die with the pickle's values
}

std::uint32_t DebugRanges::add_string(std::string text) {
  strings_.push_back(std::move(text));
  return static_cast<std::uint32_t>(strings_.size() - 1);
}

std::size_t DebugRanges::add_text(const c10::IValue& source, bool string_table) {
  const auto tuple = source.toTuple();
  const auto [found, fresh] = text_of_tuple_.emplace(tuple.get(), texts_.size());
  if (!fresh) return found->second;
  const auto& fields = tuple->elements();
  Text text;
  if (string_table) {
    for (const std::int64_t piece : fields.at(0).toIntVector()) {
      if (piece < 0 || static_cast<std::size_t>(piece) >= strings_.size()) throw std::out_of_range("no such text");
      text.pieces.push_back(static_cast<std::uint32_t>(piece));
    }
    text.file = strings_.at(static_cast<std::size_t>(fields.at(1).toInt()));
  } else {
    std::string_view rest = fields.at(0).toStringRef();
    while (!rest.empty()) {
      const auto size = std::min(rest.find('\n'), rest.size() - 1) + 1;
      text.pieces.push_back(add_string(std::string(rest.substr(0, size))));
      rest.remove_prefix(size);
    }
    if (!fields.at(1).isNone()) text.file = fields.at(1).toStringRef();
  }
  text.first_line = fields.at(2).toInt();
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
    if (ir::LocationRef inner = frame(text.pieces[i - 1], place)) place = std::move(inner);
  return place;
}

ir::LocationRef DebugRanges::frame(std::uint32_t piece, const ir::LocationRef& caller) {
  ir::LocationRef& known = frames_[{piece, caller.get()}];
  if (known) return known;
  const auto parsed = parse_frame(strings_[piece]);
  if (!parsed) return nullptr;
  ir::Location place;
  place.file = parsed->file;
  place.line = parsed->line;
  place.function = parsed->function;
  place.caller = caller;
  known = std::make_shared<const ir::Location>(std::move(place));
  return known;
}

std::optional<torch::jit::SourceRange> DebugRanges::findSourceRangeThatGenerated(const torch::jit::SourceRange& range) {
  const Range* found = range_at(range.start());
  if (!found || texts_[found->text].pieces.empty()) return std::nullopt;
  Text& text = texts_[found->text];
  if (!text.source) {
    std::string joined;
    for (const std::uint32_t piece : text.pieces) joined += strings_[piece];
    auto file = text.file.empty() ? std::nullopt : std::optional(text.file);
    text.source = std::make_shared<torch::jit::Source>(joined, std::move(file), static_cast<std::size_t>(text.first_line));
  }
  if (found->start > found->end || found->end > text.source->size()) return std::nullopt;
  return torch::jit::SourceRange(text.source, found->start, found->end);
}

}  // namespace compatcheck::frontend::torchscript
