// A file opened for reading at places. Not mapped: a file that is cut short while we read must not end in SIGBUS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace compatcheck::files {

class InputFile {
 public:
  // Throws ModelError for what is absent, a folder, not a regular file, unreadable; empty files are opened.
  explicit InputFile(const std::filesystem::path& path);
  // The bytes as an anonymous file, which another process can be handed.
  explicit InputFile(std::span<const std::uint8_t> bytes);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }

  // Throws ModelError if the file ends before; `bytes` is not limited by the file's size, so check it first.
  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t bytes) const;
  void read_into(std::uint64_t offset, std::span<std::uint8_t> into) const;
  // The first bytes, fewer if the file is shorter.
  std::vector<std::uint8_t> head(std::uint64_t at_most) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace compatcheck::files
