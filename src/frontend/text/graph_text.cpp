#include "frontend/text/graph_text.h"

#include <algorithm>
#include <string_view>

#include "ir/text.h"

namespace compatcheck::frontend::text {
namespace {

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // some editors' mark of UTF-8
  return text;
}

std::string_view without_leading_comments(std::string_view text) {
  for (;;) {
    const auto start = text.find_first_not_of(" \t\r\n");
    if (start == text.npos) return {};
    text.remove_prefix(start);
    if (text.front() != '#') return text;
    const auto end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end);
  }
}

}  // namespace

bool is_text(std::span<const std::uint8_t> head) {
  return std::ranges::none_of(
      head, [](std::uint8_t c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b'; });
}

bool looks_like_graph(std::span<const std::uint8_t> head, const std::filesystem::path& path) {
  const std::string_view text = as_text(head);
  const std::string_view first = without_leading_comments(text);
  if (first.starts_with("graph(") || first.starts_with("graph (")) return true;
  return (path.extension() == ".txt" || path.extension() == ".ir") && is_text(head);
}

ir::Graph read_graph(std::span<const std::uint8_t> bytes, const std::string& display_name) {
  return ir::parse_graph(as_text(bytes), {.file = display_name});
}

}  // namespace compatcheck::frontend::text
