// A file that is there under its name when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "process/unfinished.h"

namespace compatcheck::onnx {

class OutputFile {
 public:
  // Opens a temporary file beside it. Throws UsageError, here and below, with the file's name.
  explicit OutputFile(const std::filesystem::path& file);
  // Without a name, in the folder of temporary files: it is gone when it is closed.
  static OutputFile nameless();
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int descriptor() const { return descriptor_.number; }
  // A full disk is told at once. Blocks that are there already also spare the file system to write everything out when the file
  // takes an older one's place (ext4's auto_da_alloc).
  void reserve(std::uint64_t bytes) const;
  void put(std::string_view bytes, std::uint64_t at) const;
  std::uint64_t size() const;
  // All bytes in order, in pieces.
  void read(const std::function<void(std::span<const std::byte>)>& piece) const;
  void finish();

 private:
  OutputFile() = default;

  std::filesystem::path file_, temporary_;
  std::unique_ptr<process::UnfinishedPath> unfinished_;  // null: it has no name, or is finished
  struct Descriptor {
    int number = -1;
    Descriptor() = default;
    Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
  } descriptor_;
};

}  // namespace compatcheck::onnx
