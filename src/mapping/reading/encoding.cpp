#include "mapping/reading/encoding.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compatcheck/error.h"
#include "onnx/function_text.h"

namespace compatcheck::mapping {

namespace {

// Numbers are varints (7 bits a byte, the low ones first), texts are preceded by their length.
class Writer {
 public:
  explicit Writer(std::vector<std::string>& files) : files_(files) {}
  std::string take() { return std::move(bytes_); }

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void file(const std::string& name) {
    const auto found = std::find(files_.begin(), files_.end(), name);
    number(static_cast<std::uint64_t>(found - files_.begin()));
    if (found == files_.end()) files_.push_back(name);
  }

 private:
  std::vector<std::string>& files_;
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::span<const std::string_view> files) : bytes_(bytes), files_(files) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view text() { return take(number()); }
  std::string_view file() {
    const std::uint64_t index = number();
    if (index >= files_.size()) throw InternalError("compiled tables are broken");
    return files_[index];
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw InternalError("compiled tables are broken");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
  std::span<const std::string_view> files_;
};

// transfer() states each structure once, for both directions.
void transfer(Writer& out, const std::string& value) { out.text(value); }
void transfer(Reader& in, std::string& value) { value = in.text(); }
void transfer(Writer& out, bool value) { out.number(value); }
void transfer(Reader& in, bool& value) { value = in.number() != 0; }
// Zigzag: small negative numbers stay short.
void transfer(Writer& out, std::int64_t value) { out.number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63)); }
void transfer(Reader& in, std::int64_t& value) {
  const std::uint64_t coded = in.number();
  value = static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
}
void transfer(Writer& out, int value) { out.number(static_cast<std::uint64_t>(value)); }
void transfer(Reader& in, int& value) { value = static_cast<int>(in.number()); }
void transfer(Writer& out, double value) { out.number(std::bit_cast<std::uint64_t>(value)); }
void transfer(Reader& in, double& value) { value = std::bit_cast<double>(in.number()); }

template <class Enum> requires std::is_enum_v<Enum> void transfer(Writer& out, Enum value) { out.number(static_cast<std::uint64_t>(value)); }
template <class Enum> requires std::is_enum_v<Enum> void transfer(Reader& in, Enum& value) { value = static_cast<Enum>(in.number()); }

template <class T> void transfer(Writer& out, const std::vector<T>& values);
template <class T> void transfer(Reader& in, std::vector<T>& values);
template <class T> void transfer(Writer& out, const std::optional<T>& value);
template <class T> void transfer(Reader& in, std::optional<T>& value);
template <class A, class B> void transfer(Writer& out, const std::pair<A, B>& value);
template <class A, class B> void transfer(Reader& in, std::pair<A, B>& value);
void transfer(Writer& out, const std::shared_ptr<const Predicate>& value);
void transfer(Reader& in, std::shared_ptr<const Predicate>& value);
void transfer(Writer& out, const Literal& value);
void transfer(Reader& in, Literal& value);

template <class Archive, class... Fields> void all(Archive& archive, Fields&... fields) { (transfer(archive, fields), ...); }

// `T` is const when writing.
template <class T, class Plain> concept is = std::same_as<std::remove_const_t<T>, Plain>;

template <class Archive, is<Place> T> void transfer(Archive& archive, T& place) {
  if constexpr (std::same_as<Archive, Writer>) archive.file(place.file);
  else place.file = archive.file();
  all(archive, place.line, place.column);
}
template <class Archive, is<Predicate::Size> T> void transfer(Archive& archive, T& size) { all(archive, size.dim, size.known, size.value); }
template <class Archive, is<Predicate> T> void transfer(Archive& archive, T& p) {
  all(archive, p.any_of, p.equals, p.each, p.length, p.elements, p.negated, p.min, p.max, p.none, p.constant, p.used, p.dtype,
      p.rank_known, p.rank, p.sizes);
}
template <class Archive, is<Condition> T> void transfer(Archive& archive, T& c) { all(archive, c.argument, c.predicate, c.place); }
template <class Archive, is<Binding> T> void transfer(Archive& archive, T& b) { all(archive, b.kind, b.argument, b.constant, b.constant_is_list); }
template <class Archive, is<Body> T> void transfer(Archive& archive, T& b) {
  all(archive, b.is_inlined, b.text, b.place);
  if constexpr (std::same_as<Archive, Reader>) b.functions = std::make_shared<const onnx::FunctionText>(b.text);
}
template <class Archive, is<Row> T> void transfer(Archive& archive, T& r) {
  all(archive, r.kind, r.to, r.body, r.inputs, r.attributes, r.when, r.required, r.reason, r.hint, r.lifted, r.approximate, r.random,
      r.complex, r.place);
}
template <class Archive, is<Entry> T> void transfer(Archive& archive, T& e) { all(archive, e.opset, e.rows, e.user, e.place); }
template <class Archive, is<Validity> T> void transfer(Archive& archive, T& v) { all(archive, v.when, v.required); }
template <class Archive, is<OperatorRows> T> void transfer(Archive& archive, T& o) {
  all(archive, o.name, o.alias, o.schema, o.schema_place, o.facts, o.valid, o.history, o.place);
}
template <class Archive, is<OnnxChange> T> void transfer(Archive& archive, T& c) {
  all(archive, c.op, c.from, c.to, c.change, c.why, c.moved, c.place);
}
template <class Archive, is<Listed> T> void transfer(Archive& archive, T& l) { all(archive, l.name, l.why, l.structure, l.place); }

template <class T> void transfer(Writer& out, const std::vector<T>& values) {
  out.number(values.size());
  for (const T& value : values) transfer(out, value);
}
template <class T> void transfer(Reader& in, std::vector<T>& values) {
  values.clear();
  for (std::uint64_t count = in.number(); count > 0; --count) transfer(in, values.emplace_back());
}
template <class T> void transfer(Writer& out, const std::optional<T>& value) {
  transfer(out, value.has_value());
  if (value) transfer(out, *value);
}
template <class T> void transfer(Reader& in, std::optional<T>& value) {
  if (in.number() != 0) transfer(in, value.emplace());
  else value.reset();
}
template <class A, class B> void transfer(Writer& out, const std::pair<A, B>& value) { all(out, value.first, value.second); }
template <class A, class B> void transfer(Reader& in, std::pair<A, B>& value) { all(in, value.first, value.second); }

void transfer(Writer& out, const std::shared_ptr<const Predicate>& value) {
  transfer(out, value != nullptr);
  if (value) transfer(out, *value);
}
void transfer(Reader& in, std::shared_ptr<const Predicate>& value) {
  if (in.number() == 0) return value.reset();
  const auto made = std::make_shared<Predicate>();
  transfer(in, *made);
  value = made;
}
void transfer(Writer& out, const Literal& value) {
  out.number(value.index());
  std::visit([&]<class T>(const T& held) {
    if constexpr (!std::same_as<T, std::monostate>) transfer(out, held);
  }, value);
}
template <class T> void read_as(Reader& in, Literal& value) { transfer(in, value.emplace<T>()); }
void transfer(Reader& in, Literal& value) {
  switch (in.number()) {
    case 0: value = std::monostate{}; break;
    case 1: read_as<bool>(in, value); break;
    case 2: read_as<std::int64_t>(in, value); break;
    case 3: read_as<double>(in, value); break;
    default: read_as<std::string>(in, value);
  }
}

}  // namespace

std::string encode(const Tables& tables) {
  std::vector<std::string> files;
  Writer operators(files), lists(files);
  operators.number(tables.operators.size());
  for (const OperatorRows& rows : tables.operators) {
    Writer one(files);
    transfer(one, rows);
    operators.text(rows.name);
    operators.text(one.take());
  }
  std::vector<std::string> schemas;
  for (const OperatorRows& rows : tables.operators)
    if (!rows.schema.empty()) schemas.push_back(rows.schema);
  all(lists, tables.changes, tables.structural, tables.plumbing, schemas);

  Writer whole(files);
  whole.number(files.size());
  for (const std::string& file : files) whole.text(file);
  whole.text(operators.take());
  whole.text(lists.take());
  for (const std::string& file : files) {
    const auto source = std::find_if(tables.sources.begin(), tables.sources.end(), [&](const auto& s) { return s.first == file; });
    whole.text(source == tables.sources.end() ? std::string_view() : std::string_view(source->second));
  }
  return whole.take();
}

EncodedTables::EncodedTables(std::string_view bytes) { open(bytes); }
EncodedTables::EncodedTables(std::string&& bytes) : owned_(std::move(bytes)) { open(owned_); }

void EncodedTables::open(std::string_view bytes) {
  Reader whole(bytes, {});
  for (std::uint64_t count = whole.number(); count > 0; --count) files_.push_back(whole.text());
  Reader operators(whole.text(), files_);
  size_ = operators.number();
  slots_ = std::make_unique<Slot[]>(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    slots_[i].name = operators.text();
    slots_[i].bytes = operators.text();
  }
  list_bytes_ = whole.text();
  for (std::size_t i = 0; i < files_.size(); ++i) sources_.push_back(whole.text());
}

const OperatorRows& EncodedTables::rows(std::size_t i) const {
  const Slot& slot = slots_[i];
  std::call_once(slot.decoded, [&] {
    Reader in(slot.bytes, files_);
    auto made = std::make_unique<OperatorRows>();
    transfer(in, *made);
    slot.rows = std::move(made);
  });
  return *slot.rows;
}

const OperatorRows* EncodedTables::find(std::string_view name) const {
  const std::span<const Slot> slots(slots_.get(), size_);
  const auto found = std::ranges::lower_bound(slots, name, {}, &Slot::name);
  return found == slots.end() || found->name != name ? nullptr : &rows(static_cast<std::size_t>(found - slots.begin()));
}

const EncodedTables::Lists& EncodedTables::lists() const {
  std::call_once(lists_decoded_, [&] {
    Reader in(list_bytes_, files_);
    all(in, lists_.changes, lists_.structural, lists_.plumbing, lists_.schemas);
  });
  return lists_;
}

std::string_view EncodedTables::source(std::string_view file) const {
  const auto found = std::find(files_.begin(), files_.end(), file);
  return found == files_.end() ? std::string_view() : sources_[static_cast<std::size_t>(found - files_.begin())];
}

}  // namespace compatcheck::mapping
