// A zip archive's directory: its records, with their places and contents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.h"

namespace compatcheck::files {

struct ZipRecord {
  std::string name;          // includes the archive's top folder: "net/data/3"
  std::uint64_t header = 0;  // offset of its local header
  std::uint64_t stored = 0;  // bytes in the file
  std::uint64_t unpacked = 0;
  std::uint32_t crc = 0;
  bool compressed = false;
  bool deflated = false;  // compressed, and as zip programs do
};

struct ZipDirectory {
  std::vector<ZipRecord> records;
  std::string top;  // the folder that all of torch's records lie in, "net/"; empty if there is none

  const ZipRecord* find(std::string_view name_below_top) const;  // null if absent
  bool has_folder(std::string_view folder_below_top) const;      // "code/"
};

bool starts_as_zip(std::span<const std::uint8_t> head);

// Throws ModelError: truncated, damaged, spread over several disks, a record outside the file.
ZipDirectory read_zip_directory(const InputFile& file);
// Reads the directory of an archive inside the file, a stored record of another archive. Offsets are those in the file.
ZipDirectory read_zip_directory(const InputFile& file, std::uint64_t start, std::uint64_t bytes);

// The contents of a record that is stored or deflated, at most `at_most` bytes of it. Throws ModelError.
std::vector<std::uint8_t> read_zip_record(const InputFile& file, const ZipRecord& record, std::uint64_t at_most);

// Where the contents of a record start, as they are in the file. Throws ModelError.
std::uint64_t contents_offset(const InputFile& file, const ZipRecord& record);

// Where the contents of a stored record of weights start. In a file that is read by ranges, this would cost a request for each
// record: except for small storages, the result is the offset of the record's header, which identifies the record, too.
std::uint64_t weights_offset(const InputFile& file, const ZipRecord& record);

// For a file that is read by ranges, fetches in one request the records that a reader of the model needs: code, pickles, JSON,
// marks, and the records of small tensors.
void fetch_small_records(const InputFile& file, const ZipDirectory& directory);

// SHA-256 over names, sizes and CRCs: distinguishes models without reading the weights.
std::string identity(const ZipDirectory& directory);

}  // namespace compatcheck::files
