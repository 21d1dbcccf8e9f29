#include "mapping/reading/encoding.h"

#include <algorithm>

#include "mapping/reading/archive.h"
#include "onnx/function_text.h"

namespace compatcheck::mapping {

template <class Archive, is<Body> T>
void transfer(Archive& archive, T& b) {
  all(archive, b.is_inlined, b.text, b.place);
  if constexpr (std::same_as<Archive, Reader>) b.functions = std::make_shared<const onnx::FunctionText>(b.text);
}
template <class Archive, is<Row> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.kind, r.to, r.variant, r.body, r.inputs, r.attributes, r.when, r.required, r.reason, r.hint, r.lifted,
      r.approximate, r.random, r.complex, r.place);
}
template <class Archive, is<Entry> T>
void transfer(Archive& archive, T& e) {
  all(archive, e.opset, e.rows, e.user, e.place);
}
template <class Archive, is<Validity> T>
void transfer(Archive& archive, T& v) {
  all(archive, v.when, v.required);
}
template <class Archive, is<ComplexForm> T>
void transfer(Archive& archive, T& c) {
  all(archive, c.kind, c.arguments);
}
template <class Archive, is<OperatorRows> T>
void transfer(Archive& archive, T& o) {
  all(archive, o.name, o.alias, o.schema, o.schema_place, o.facts, o.complex, o.valid, o.history, o.place);
}
template <class Archive, is<OnnxChange> T>
void transfer(Archive& archive, T& c) {
  all(archive, c.op, c.from, c.to, c.change, c.why, c.moved, c.place);
}
template <class Archive, is<Listed> T>
void transfer(Archive& archive, T& l) {
  all(archive, l.name, l.why, l.structure, l.place);
}

std::string encode(const Tables& tables) {
  std::vector<std::string> files;
  Writer operators(files), lists(files);
  operators.number(tables.operators.size());
  for (const OperatorRows& rows : tables.operators) {
    Writer one(files);
    transfer(one, rows);
    operators.text(rows.name);
    operators.text(std::move(one).take());
  }
  std::vector<std::string> schemas;
  for (const OperatorRows& rows : tables.operators)
    if (!rows.schema.empty()) schemas.push_back(rows.schema);
  all(lists, tables.changes, tables.structural, schemas);

  Writer whole(files);
  whole.number(files.size());
  for (const std::string& file : files) whole.text(file);
  whole.text(std::move(operators).take());
  whole.text(std::move(lists).take());
  for (const std::string& file : files) {
    const auto source =
        std::find_if(tables.sources.begin(), tables.sources.end(), [&](const auto& s) { return s.first == file; });
    whole.text(source == tables.sources.end() ? std::string_view() : std::string_view(source->second));
  }
  return std::move(whole).take();
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
    all(in, lists_.changes, lists_.structural, lists_.schemas);
  });
  return lists_;
}

std::string_view EncodedTables::source(std::string_view file) const {
  const auto found = std::find(files_.begin(), files_.end(), file);
  return found == files_.end() ? std::string_view() : sources_[static_cast<std::size_t>(found - files_.begin())];
}

}  // namespace compatcheck::mapping
