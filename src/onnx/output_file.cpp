#include "onnx/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "onnx/weight_copy.h"
#include "process/spell_count.h"

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
    : file_(target_of(file)),
      temporary_(file_.string() + ".part" + std::to_string(getpid())),
      unfinished_(std::make_unique<process::UnfinishedPath>(temporary_)) {
  descriptor_.number = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_.number < 0) throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
}

OutputFile OutputFile::nameless() {
  OutputFile made;
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  made.file_ = folder;
  made.descriptor_.number = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made.descriptor_.number < 0)  // not every file system has such files
    made.descriptor_.number = memfd_create("compatcheck-model", MFD_CLOEXEC);
  if (made.descriptor_.number < 0)
    throw UsageError(folder.string() + ": no temporary file can be made: " + std::strerror(errno) +
                     "; TMPDIR names another folder");
  return made;
}

OutputFile::~OutputFile() {
  if (descriptor_.number >= 0) close(descriptor_.number);
  if (unfinished_) unlink(temporary_.c_str());
}

void OutputFile::reserve(std::uint64_t bytes) const {
  if (bytes > 0 && fallocate(descriptor(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    throw UsageError(file_.string() + ": can't write " + spell_count(bytes, "byte") + ": " + std::strerror(errno));
}

void OutputFile::put(std::string_view bytes, std::uint64_t at) const { write_all(descriptor(), bytes.data(), bytes.size(), at); }

std::uint64_t OutputFile::size() const {
  struct stat status {};
  return fstat(descriptor(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void OutputFile::read(const std::function<void(std::span<const std::byte>)>& piece) const {
  std::vector<std::byte> bytes(1 << 20);
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor(), bytes.data(), bytes.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UsageError(file_.string() + ": a temporary file can't be read: " + std::strerror(errno));
    if (got == 0) return;
    piece({bytes.data(), static_cast<std::size_t>(got)});
    at += got;
  }
}

void OutputFile::finish() {
  const bool closed = close(std::exchange(descriptor_.number, -1)) == 0;
  if (!closed || rename(temporary_.c_str(), file_.c_str()) != 0)
    throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
  unfinished_.reset();
}

}  // namespace compatcheck::onnx
