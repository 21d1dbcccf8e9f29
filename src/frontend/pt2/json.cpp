#include "frontend/pt2/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "compatcheck/error.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::size_t deepest_json = 512;      // a subgraph in a subgraph adds six levels
constexpr std::size_t most_values = 30 << 20;  // 1 GB of items; a node takes some 150

// Positions of NaN, Infinity and -Infinity outside of texts: no JSON, but what Python writes.
std::string quote_bare_numbers(std::string_view text, bool& found) {
  constexpr std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
  if (text.find("Infinity") == text.npos && text.find("NaN") == text.npos) return {};
  std::string quoted;
  bool in_text = false;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      in_text = c != '"';
      continue;
    }
    if (c == '"') in_text = true;
    if (c != '-' && c != 'I' && c != 'N') continue;
    for (const std::string_view word : words)
      if (text.substr(at).starts_with(word)) {
        quoted.append(text, copied, at - copied);
        quoted.append("\"").append(word).append("\"");
        at += word.size() - 1;
        copied = at + 1;
        found = true;
        break;
      }
  }
  if (!found) return {};
  quoted.append(text, copied, text.size() - copied);
  return quoted;
}

}  // namespace

// The callbacks of nlohmann's parser, which keeps no document of its own.
class JsonDocument::Builder {
 public:
  explicit Builder(JsonDocument& document) : document_(document) {}

  bool null() { return add(Json::Kind::null); }
  bool boolean(bool value) { return add(Json::Kind::boolean, value ? 1 : 0); }
  bool number_integer(std::int64_t value) { return add(Json::Kind::integer, value); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return beyond();
    return add(Json::Kind::integer, static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& spelled) {
    if (spelled.find_first_of(".eE") == std::string::npos) return beyond();
    if (!add(Json::Kind::real)) return false;
    document_.items_.back().real = value;
    return true;
  }
  bool string(std::string& value) {
    if (!add(Json::Kind::text)) return false;
    Item& item = document_.items_.back();
    return store(value, item.text, item.count);
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(Json::Kind::object); }
  bool start_array(std::size_t) { return open(Json::Kind::array); }
  bool end_object() {
    const std::uint32_t object = open_.back();
    const auto& items = document_.items_;
    keys_.clear();
    for (std::uint32_t at = object + 1; at < items.size(); at = items[at].next)
      keys_.push_back(document_.part(items[at].key, items[at].key_bytes));
    std::ranges::sort(keys_);
    if (const auto twice = std::ranges::adjacent_find(keys_); twice != keys_.end())
      return fail("the key \"" + std::string(twice->substr(0, 60)) + "\" occurs twice in one object");
    return close();
  }
  bool end_array() { return close(); }
  bool key(std::string& text) { return store(text, key_, key_bytes_); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: …"
    const std::string_view what = error.what();
    const auto from = what.find("at line");
    const auto to = what.find("; last read");
    return fail("is not JSON" +
                (from == what.npos ? std::string() : " " + std::string(what.substr(from, std::min(to, what.size()) - from))));
  }

  const std::string& failure() const { return failure_; }

 private:
  bool fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
    return false;
  }
  bool beyond() { return fail("has an integer of more than 64 bits"); }

  bool add(Json::Kind kind, std::int64_t integer = 0) {
    auto& items = document_.items_;
    if (items.size() >= most_values) return fail("has more than " + std::to_string(most_values) + " values");
    Item item;
    item.kind = kind;
    item.integer = integer;
    item.key = std::exchange(key_, 0);
    item.key_bytes = std::exchange(key_bytes_, 0);
    item.next = static_cast<std::uint32_t>(items.size() + 1);
    if (!open_.empty()) ++items[open_.back()].count;
    items.push_back(item);
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= deepest_json) return fail("is nested more than " + std::to_string(deepest_json) + " deep");
    if (!add(kind)) return false;
    open_.push_back(static_cast<std::uint32_t>(document_.items_.size() - 1));
    return true;
  }
  bool close() {
    document_.items_[open_.back()].next = static_cast<std::uint32_t>(document_.items_.size());
    open_.pop_back();
    return true;
  }
  bool store(const std::string& text, std::uint32_t& start, std::uint32_t& bytes) {
    std::string& texts = document_.texts_;
    if (texts.size() + text.size() > std::numeric_limits<std::uint32_t>::max()) return fail("has more than 4 GB of text");
    start = static_cast<std::uint32_t>(texts.size());
    bytes = static_cast<std::uint32_t>(text.size());
    texts += text;
    return true;
  }

  JsonDocument& document_;
  std::vector<std::uint32_t> open_;
  std::vector<std::string_view> keys_;  // sorted keys of the object that ends
  std::uint32_t key_ = 0, key_bytes_ = 0;
  std::string failure_;
};

JsonDocument::JsonDocument(std::span<const std::uint8_t> bytes, std::string name) : name_(std::move(name)) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xef\xbb\xbf")) throw ModelError("record " + name_ + " begins with a byte order mark");
  const std::string quoted = quote_bare_numbers(text, bare_);
  if (bare_) text = quoted;
  // About as much as programs need: growing would copy all of it several times. What isn't written to takes no memory.
  texts_.reserve(text.size() / 2);
  items_.reserve(std::min(most_values, text.size() / 16));
  Builder builder(*this);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    throw ModelError("record " + name_ + " " + builder.failure());
}

Json::Kind Json::kind() const { return document_->items_[place_].kind; }

std::string_view Json::text() const {
  if (!is(Kind::text)) fail("is not a string");
  const auto& item = document_->items_[place_];
  return document_->part(item.text, item.count);
}

std::int64_t Json::integer() const {
  if (!is(Kind::integer)) fail("is not an integer");
  return document_->items_[place_].integer;
}

double Json::real() const {
  if (is(Kind::integer)) return static_cast<double>(document_->items_[place_].integer);
  if (is(Kind::real)) return document_->items_[place_].real;
  if (is(Kind::text)) {
    if (text() == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text() == "Infinity") return std::numeric_limits<double>::infinity();
    if (text() == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  fail("is not a number");
}

bool Json::boolean() const {
  if (!is(Kind::boolean)) fail("is not a boolean");
  return document_->items_[place_].integer != 0;
}

std::string_view Json::key() const {
  const auto& item = document_->items_[place_];
  return document_->part(item.key, item.key_bytes);
}

std::size_t Json::size() const {
  if (!is(Kind::array) && !is(Kind::object)) fail("is not an array or object");
  return document_->items_[place_].count;
}

std::vector<Json> Json::members() const {
  std::vector<Json> members;
  members.reserve(size());
  const auto& items = document_->items_;
  for (std::uint32_t at = place_ + 1; at < items[place_].next; at = items[at].next) members.push_back({*document_, at});
  return members;
}

std::optional<Json> Json::find(std::string_view key) const {
  if (!is(Kind::object)) fail("is not an object");
  const auto& items = document_->items_;
  for (std::uint32_t at = place_ + 1; at < items[place_].next; at = items[at].next)
    if (const Json member{*document_, at}; member.key() == key) return member;
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  fail("lacks \"" + std::string(key) + "\"");
}

std::string Json::path() const {
  std::string path;
  const auto& items = document_->items_;
  for (std::uint32_t at = 0; at < place_;) {  // the chain of items that hold this one
    std::uint32_t index = 0, member = at + 1;
    for (; items[member].next <= place_; member = items[member].next) ++index;
    const bool in_array = items[at].kind == Kind::array;
    if (in_array)
      path += "[" + std::to_string(index) + "]";
    else
      path += (path.empty() ? "" : ".") + std::string(Json{*document_, member}.key());
    at = member;
  }
  return path;
}

void Json::fail(const std::string& what) const {
  const std::string where = path();
  throw ModelError("record " + document_->name() + ": " + (where.empty() ? "the document" : where) + " " + what);
}

}  // namespace compatcheck::frontend::pt2
