// A TorchScript archive in memory: the file mapped, and its zip directory read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"

namespace compatcheck::frontend::torchscript {

// A file mapped copy-on-write: what libtorch might write into a weight never reaches the file.
class MappedFile {
 public:
  explicit MappedFile(const files::InputFile& file);  // throws ModelError
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Record {
  std::string name;            // without the archive's top folder: "data/3"
  std::uint64_t offset = 0;    // offset of the first stored byte in the file
  std::uint64_t bytes = 0;     // stored size
  std::uint64_t unpacked = 0;  // unpacked size
  bool compressed = false;
};

class Archive {
 public:
  // Throws ModelError naming what is broken: no directory, a record outside the file.
  explicit Archive(const std::string& path);

  const files::InputFile& file() const { return file_; }
  const files::ZipDirectory& directory() const { return directory_; }
  std::span<std::uint8_t> bytes() const { return mapped_.bytes(); }
  const std::vector<Record>& records() const { return records_; }
  const Record* find(std::string_view name) const;  // null if absent
  std::span<std::uint8_t> contents(const Record& record) const { return bytes().subspan(record.offset, record.bytes); }
  // Text of a small stored record ("version", "byteorder"), trimmed; empty if absent.
  std::string text(std::string_view name) const;

 private:
  void add(const files::ZipRecord& record, std::string_view top);
  files::InputFile file_;
  files::ZipDirectory directory_;
  MappedFile mapped_;
  std::vector<Record> records_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace compatcheck::frontend::torchscript
