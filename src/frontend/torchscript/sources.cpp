#include "frontend/torchscript/sources.h"

#include <caffe2/serialize/inline_container.h>

#include <algorithm>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t longest_text = 200;   // longest source line in the report
constexpr std::size_t deepest_type = 1000;  // libtorch takes minutes for List[List[... of many thousands
constexpr std::uint64_t most_code_bytes = 64 << 20;

std::string path_of(std::string qualifier) {
  std::replace(qualifier.begin(), qualifier.end(), '.', '/');
  return "code/" + qualifier + ".py";
}

}  // namespace

std::optional<torch::jit::SourceRange> SourceOfRanges::findSourceRangeThatGenerated(const torch::jit::SourceRange& range) {
  const auto found = source(range.start());
  if (!found) return std::nullopt;
  auto file = found->file.empty() ? std::nullopt : std::optional(found->file);
  auto text = std::make_shared<torch::jit::Source>(found->text, std::move(file), static_cast<std::size_t>(found->first_line));
  return torch::jit::SourceRange(std::move(text), found->start, found->end);
}

void Sources::check(const std::string& name, std::string_view code) {
  std::size_t depth = 0;
  for (std::size_t at = code.find_first_of("[]\n"); at != code.npos; at = code.find_first_of("[]\n", at + 1)) {
    if (code[at] == '[')
      ++depth;
    else
      depth = code[at] == ']' && depth > 0 ? depth - 1 : 0;
    if (depth > deepest_type) throw ModelError("brackets in " + name + " are nested more than 1000 deep");
  }
}

std::string_view Sources::bytes(const Record& record) {
  if (record.unpacked > most_code_bytes)
    throw ModelError("record " + record.name + " has " + std::to_string(record.unpacked) +
                     " bytes; code of more than 64 MB isn't read");
  if (!record.compressed) {
    const auto data = archive_.contents(record);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  const auto [found, fresh] = unpacked_.try_emplace(&record);
  if (fresh) {
    auto [data, size] = reader_.getRecord(record.name);
    found->second.assign(static_cast<const char*>(data.get()), size);
  }
  return found->second;
}

std::shared_ptr<torch::jit::Source> Sources::load(const std::string& qualifier) {
  using torch::jit::Source;
  const std::string path = path_of(qualifier);
  const Record* record = archive_.find(path);
  if (!record) return nullptr;
  check(path, bytes(*record));
  File file;
  file.name = path;
  if (const Record* debug = archive_.find(path + ".debug_pkl")) {
    const std::string_view pickle = bytes(*debug);
    file.ranges =
        std::make_shared<SourceOfRanges>(std::span(reinterpret_cast<const std::uint8_t*>(pickle.data()), pickle.size()), frames_);
  }
  file.source = std::make_shared<Source>(bytes(*record), path, 1, file.ranges, Source::DONT_COPY);
  auto source = file.source;
  files_.emplace(source.get(), std::move(file));
  return source;
}

std::vector<std::string> Sources::qualifiers() const {
  std::vector<std::string> found;
  for (const Record& record : archive_.records()) {
    if (!record.name.starts_with("code/") || !record.name.ends_with(".py")) continue;
    std::string name = record.name.substr(5, record.name.size() - 8);
    std::replace(name.begin(), name.end(), '/', '.');
    found.push_back(std::move(name));
  }
  return found;
}

std::string_view Sources::text(const std::string& qualifier) {
  const Record* record = archive_.find(path_of(qualifier));
  return record ? bytes(*record) : std::string_view();
}

ir::LocationRef Sources::locate(const torch::jit::SourceRange& range) {
  const auto found = files_.find(range.source().get());
  if (found == files_.end()) return nullptr;
  File& file = found->second;
  if (!file.ranges) return locate_in_code(file, range);
  if (!any_traced_) any_traced_ = file.ranges->traced(range.start()).value_or(false);
  if (ir::LocationRef place = file.ranges->find(range.start())) return place;
  return locate_in_code(file, range);
}

// The archive's own code: all there is where no source of the user's was recorded.
ir::LocationRef Sources::locate_in_code(File& file, const torch::jit::SourceRange& range) {
  ir::LocationRef& place = file.own_places[range.start()];
  if (place) return place;
  const torch::jit::Source& source = *file.source;
  const std::size_t line = source.lineno_for_offset(range.start());
  ir::Location found;
  found.file = file.name;
  found.line = static_cast<int>(line) + 1;
  found.column = static_cast<int>(range.start() - source.offset_for_line(line)) + 1;
  const std::size_t begin = source.offset_for_line(line), size = source.size() - begin;
  std::string text = source.text_str().substr(begin, std::min<std::size_t>(size, longest_text)).str();
  text.resize(std::min(text.find('\n'), text.size()));
  const auto first = text.find_first_not_of(' ');
  if (first != text.npos) found.text = text.substr(first);
  place = std::make_shared<const ir::Location>(std::move(found));
  return place;
}

}  // namespace compatcheck::frontend::torchscript
