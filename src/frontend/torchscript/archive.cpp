#include "frontend/torchscript/archive.h"

#include <sys/mman.h>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {

MappedFile::MappedFile(const files::InputFile& file) : size_(file.size()) {
  if (size_ == 0) throw ModelError("is empty");
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
  if (mapped == MAP_FAILED) throw ModelError("can't be mapped into memory");
  data_ = static_cast<std::uint8_t*>(mapped);
}

MappedFile::~MappedFile() { ::munmap(data_, size_); }

Archive::Archive(const std::string& path) : file_(path), directory_(files::read_zip_directory(file_)), mapped_(file_) {
  records_.reserve(directory_.records.size());
  for (const files::ZipRecord& record : directory_.records) add(record, directory_.top);
  for (std::size_t i = 0; i < records_.size(); ++i) index_.emplace(records_[i].name, i);
}

// The directory says where a record's own header stands; its bytes follow that header's name and extra field.
void Archive::add(const files::ZipRecord& record, std::string_view top) {
  constexpr std::uint64_t header_bytes = 30, name_field = 26, extra_field = 28;
  const std::span<const std::uint8_t> all = bytes();
  const auto u16 = [&](std::uint64_t place) { return std::uint64_t{all[place]} | std::uint64_t{all[place + 1]} << 8; };
  const std::uint64_t offset = record.header + header_bytes + u16(record.header + name_field) + u16(record.header + extra_field);
  if (offset > all.size() || record.stored > all.size() - offset)
    throw ModelError("is a damaged zip archive: record " + record.name + " reaches beyond the end of the file");
  std::string_view name = record.name;
  if (name.starts_with(top)) name.remove_prefix(top.size());
  records_.push_back({std::string(name), offset, record.stored, record.unpacked, record.compressed});
}

const Record* Archive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &records_[found->second];
}

std::string Archive::text(std::string_view name) const {
  const Record* record = find(name);
  if (!record || record->compressed) return {};
  const auto data = contents(*record);
  std::string text(data.begin(), data.end());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace compatcheck::frontend::torchscript
