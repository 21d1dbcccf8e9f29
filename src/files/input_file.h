// A file opened for reading at places. Not mapped: a file that is cut short while we read must not end in SIGBUS. Or one that
// isn't on this machine, read by ranges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "files/block_cache.h"

namespace compatcheck::files {

class InputFile {
 public:
  // Throws ModelError for a path that doesn't exist, can't be read or isn't a regular file; empty files are opened.
  explicit InputFile(const std::filesystem::path& path);
  // The bytes as an anonymous file, which another process can be handed.
  explicit InputFile(std::span<const std::uint8_t> bytes);
  explicit InputFile(std::shared_ptr<BlockCache> ranges);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  std::uint64_t size() const { return size_; }
  // Throws ModelError for one that is read by ranges.
  int descriptor() const;
  bool is_ranged() const { return ranges_ != nullptr; }
  // Fetches ranges that will be read soon in one request, if the file is read by ranges.
  void fetch(std::span<const ByteRange> ranges) const;

  // Throws ModelError if the file ends before; `bytes` is not limited by the file's size, so check it first.
  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t bytes) const;
  void read_into(std::uint64_t offset, std::span<std::uint8_t> into) const;
  // The first bytes, fewer if the file is shorter.
  std::vector<std::uint8_t> head(std::uint64_t at_most) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::shared_ptr<BlockCache> ranges_;
};

}  // namespace compatcheck::files
