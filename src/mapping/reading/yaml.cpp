#include "mapping/reading/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "compatcheck/error.h"
#include "compatcheck/printable.h"

namespace compatcheck::mapping::yaml {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

int characters(std::string_view bytes) {
  return static_cast<int>(std::count_if(bytes.begin(), bytes.end(), [](char c) { return !continues_character(c); }));
}

// Length of the UTF-8 character at the front, 0 if it isn't one (overlong forms and surrogates included).
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F)) return 0;
  return length;
}

// For a terminal, and for JSON: no control characters, nothing that isn't UTF-8.
std::string printable(std::string_view line) {
  std::string made;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t length = utf8_length(line.substr(i));
    const auto c = static_cast<unsigned char>(line[i]);
    if (c == '\t')
      made += ' ';
    else if (length == 0 || c < 0x20 || c == 0x7F)
      made += '?';
    else
      made += line.substr(i, length);
    i += std::max<std::size_t>(1, length);
  }
  return made;
}

// The line, or of a long one the part around the column, with the column in what is shown.
std::pair<std::string, int> excerpt(std::string_view line, int column) {
  constexpr int around = 120;
  column = std::clamp(column, 1, characters(line) + 1);
  const auto cut = [](std::string_view text, int count) {  // the bytes of the first `count` characters
    std::size_t i = 0;
    for (; i < text.size(); ++i)
      if (!continues_character(text[i]) && count-- == 0) break;
    return text.substr(0, i);
  };
  std::string before, after;
  if (column > 2 * around) {
    const int skipped = column - around;
    line.remove_prefix(cut(line, skipped).size());
    column -= skipped - 1;
    before = "…";
  }
  const std::string_view kept = cut(line, column + around);
  if (kept.size() < line.size()) after = "…";
  return {before + printable(kept) + after, column};
}

class LineIndex {
 public:
  explicit LineIndex(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }
  std::string_view line(int zero_based) const {
    if (zero_based < 0 || zero_based >= static_cast<int>(starts_.size())) return {};
    const std::string_view rest = text_.substr(starts_[static_cast<std::size_t>(zero_based)]);
    std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  // yaml-cpp counts lines from 0 and columns in bytes.
  std::pair<int, int> place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {1, 1};
    const std::string_view before = line(mark.line).substr(0, static_cast<std::size_t>(std::max(0, mark.column)));
    return {mark.line + 1, characters(before) + 1};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

// Builds the tree from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  Builder(const Source& source, const LineIndex& lines) : source_(source), lines_(lines) {}
  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor) refuse(mark, "anchors (&) are not part of the table language");
    finish(node(mark, Node::Kind::null));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases (*) are not part of the table language");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    check(mark, tag, anchor);
    Node scalar = node(mark, Node::Kind::scalar);
    scalar.text = value;
    scalar.quoted = tag == "!";  // yaml-cpp's mark of a scalar that isn't plain
    finish(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    std::optional<Node> key;
    std::set<std::string> keys;
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& message) const {
    const auto [line, column] = lines_.place(mark);
    fail(source_, {source_.name(), line, column}, message);
  }
  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor) refuse(mark, "anchors (&) are not part of the table language");
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags (!) are not part of the table language");
  }
  Node node(const YAML::Mark& mark, Node::Kind kind) const {
    Node made;
    made.kind = kind;
    std::tie(made.line, made.column) = lines_.place(mark);
    return made;
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    check(mark, tag, anchor);
    if (static_cast<int>(open_.size()) >= max_depth) refuse(mark, "nested more than " + std::to_string(max_depth) + " deep");
    open_.push_back({node(mark, kind), std::nullopt, {}});
  }
  void close() {
    Node done = std::move(open_.back().node);
    open_.pop_back();
    finish(std::move(done));
  }
  void finish(Node done) {
    if (open_.empty()) {
      root_ = std::move(done);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(done));
    } else if (!parent.key) {
      take_key(parent, std::move(done));
    } else {
      parent.node.pairs.push_back({std::move(*parent.key), std::move(done)});
      parent.key.reset();
    }
  }
  void take_key(Open& parent, Node key) {
    if (!key.is_scalar()) fail(source_, key, "a key must be a word or a number");
    if (!parent.keys.insert(key.text).second) {
      const auto first = std::find_if(parent.node.pairs.begin(), parent.node.pairs.end(),
                                      [&](const auto& pair) { return pair.first.text == key.text; });
      fail(source_, key, "`" + key.text + "` is defined twice; first on line " + std::to_string(first->first.line));
    }
    parent.key = std::move(key);
  }

  const Source& source_;
  const LineIndex& lines_;
  std::vector<Open> open_;
  Node root_;
};

// Rejects characters that yaml-cpp can't read, or reads otherwise than an editor shows them.
void check_characters(const Source& source) {
  const std::string_view text = source.text();
  if (text.size() > max_bytes)
    fail(source, {source.name(), 1, 1}, "a table of more than " + std::to_string(max_bytes >> 10) + " KiB");
  int line = 1;
  bool indentation = true;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    const auto c = static_cast<unsigned char>(text[i]);
    const auto refuse = [&](const char* message) {
      fail(source, Place{source.name(), line, characters(text.substr(line_start, i - line_start)) + 1}, message);
    };
    if (i - line_start >= max_line && c != '\n') refuse("a line of more than 4096 bytes");
    if (length == 0) refuse("not UTF-8 text");
    if (c == '\t' && indentation) refuse("a tab; YAML is indented with spaces");
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) refuse("a control character");
    if (c == '\r' && text.substr(i + 1, 1) != "\n") refuse("a carriage return within a line");
    indentation = c == '\n' || (indentation && c == ' ');
    i += length;
    if (c == '\n') ++line, line_start = i;
  }
}

}  // namespace

std::string_view line_of(std::string_view text, int line) { return LineIndex(text).line(line - 1); }

std::string describe(const Place& place, std::string_view message, std::string_view line) {
  std::string described = place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
  described += message;
  if (line.empty()) return described;
  const auto [shown, column] = excerpt(line, place.column);
  return described + "\n" + printable(shown) + "\n" + std::string(static_cast<std::size_t>(column - 1), ' ') + "^";
}

DefectError::DefectError(mapping::Defect what, std::string_view line)
    : TableError(describe(what.place, what.message, line)), defect(std::move(what)) {}

void fail(const Source& source, const Place& place, const std::string& message) {
  throw DefectError({place, message}, line_of(source.text(), place.line));
}

void fail(const Source& source, const Node& node, const std::string& message) { fail(source, source.place(node), message); }

Node parse(const Source& source) {
  const LineIndex lines(source.text());
  check_characters(source);
  std::istringstream stream{std::string(source.text())};
  Builder builder(source, lines);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {};
    Node root = builder.take();
    Builder rest(source, lines);
    if (parser.HandleNextDocument(rest)) fail(source, rest.take(), "a second document; a table file holds one");
    return root;
  } catch (const YAML::Exception& error) {
    const auto [line, column] = lines.place(error.mark);
    fail(source, {source.name(), line, column}, "not YAML: " + error.msg);
  }
}

}  // namespace compatcheck::mapping::yaml
