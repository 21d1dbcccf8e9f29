#include "files/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "compatcheck/error.h"

namespace compatcheck::files {
namespace {

[[noreturn]] void cannot_open(int error) {
  switch (error) {
    case ENOENT: throw ModelError("no such file");
    case EACCES: throw ModelError("no permission to read it");
    default: throw ModelError(std::string("can't open it: ") + std::strerror(error));
  }
}

void write_all(int descriptor, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw ModelError(std::string("can't keep the model in memory: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

// O_NONBLOCK: opening a pipe without a writer must not block.
InputFile::InputFile(const std::filesystem::path& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) cannot_open(errno);
  struct stat status {};
  ::fstat(descriptor_, &status);
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  if (S_ISDIR(status.st_mode)) throw ModelError("is a folder, not a model");
  throw ModelError("is not a regular file; give '-' and the model on standard input");
}

InputFile::InputFile(std::span<const std::uint8_t> bytes)
    : descriptor_(::memfd_create("compatcheck-model", MFD_CLOEXEC)), size_(bytes.size()) {
  if (descriptor_ < 0) cannot_open(errno);
  try {
    write_all(descriptor_, bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile::InputFile(std::shared_ptr<BlockCache> ranges) : size_(ranges->size()), ranges_(std::move(ranges)) {}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), ranges_(std::move(other.ranges_)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int InputFile::descriptor() const {
  if (ranges_) throw ModelError("is read by ranges; this needs a file on this machine");
  return descriptor_;
}

void InputFile::fetch(std::span<const ByteRange> ranges) const {
  if (ranges_) ranges_->fetch(ranges);
}

void InputFile::read_into(std::uint64_t offset, std::span<std::uint8_t> into) const {
  if (ranges_) return ranges_->read_into(offset, into);
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ModelError(std::string("can't read it: ") + std::strerror(errno));
    if (got == 0) throw ModelError("it ends too early");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::uint8_t> InputFile::read(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) throw ModelError("it ends too early");
  std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
  read_into(offset, data);
  return data;
}

std::vector<std::uint8_t> InputFile::head(std::uint64_t at_most) const { return read(0, std::min(at_most, size_)); }

}  // namespace compatcheck::files
