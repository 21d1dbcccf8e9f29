// A file that is there under its name when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace compatcheck::onnx {

class OutputFile {
 public:
  // Opens a temporary file beside it. Throws UsageError, here and below, with the file's name.
  explicit OutputFile(const std::filesystem::path& file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  int descriptor() const { return descriptor_; }
  // A full disk is told at once. Blocks that are there already also spare the file system to write everything out when the file
  // takes an older one's place (ext4's auto_da_alloc).
  void reserve(std::uint64_t bytes) const;
  void put(std::string_view bytes, std::uint64_t at) const;
  std::uint64_t size() const;
  void finish();

 private:
  std::filesystem::path file_, temporary_;
  int descriptor_ = -1;
  bool done_ = false;
};

}  // namespace compatcheck::onnx
