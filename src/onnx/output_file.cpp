#include "onnx/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "compatcheck/error.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

// A link keeps standing, and what is no file isn't replaced by one.
std::filesystem::path target_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw UsageError(file.string() + ": can't write: it is there, and no file");
  const auto target = std::filesystem::is_symlink(std::filesystem::symlink_status(file, error))
                          ? std::filesystem::weakly_canonical(file, error)
                          : file;
  return error ? file : target;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& file)
    : file_(target_of(file)), temporary_(file_.string() + ".part" + std::to_string(getpid())) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!done_) unlink(temporary_.c_str());
}

void OutputFile::reserve(std::uint64_t bytes) const {
  if (bytes > 0 && fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    throw UsageError(file_.string() + ": can't write " + std::to_string(bytes >> 20) + " MB: " + std::strerror(errno));
}

void OutputFile::put(std::string_view bytes, std::uint64_t at) const { write_all(descriptor_, bytes.data(), bytes.size(), at); }

std::uint64_t OutputFile::size() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void OutputFile::finish() {
  const bool closed = close(std::exchange(descriptor_, -1)) == 0;
  if (!closed || rename(temporary_.c_str(), file_.c_str()) != 0)
    throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
  done_ = true;
}

}  // namespace compatcheck::onnx
