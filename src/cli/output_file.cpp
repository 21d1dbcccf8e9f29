#include "cli/output_file.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "compatcheck/error.h"

namespace compatcheck::cli {

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)), written_(file_) {
  std::error_code error;
  const bool in_place = std::filesystem::exists(file_, error) && !std::filesystem::is_regular_file(file_, error);
  if (!in_place) written_ += ".tmp" + std::to_string(getpid());
  stream_.open(written_, std::ios::binary | std::ios::trunc);
  check();
}

OutputFile::~OutputFile() {
  std::error_code error;
  if (written_ != file_) std::filesystem::remove(written_, error);
}

void OutputFile::write(const std::string& text) {
  stream_ << text << std::flush;
  check();
}

void OutputFile::finish() {
  stream_.close();
  check();
  if (written_ == file_) return;
  std::error_code error;
  std::filesystem::rename(written_, file_, error);
  if (error) throw UsageError(file_.string() + " can't be written: " + error.message());
  written_ = file_;
}

void OutputFile::check() const {
  if (!stream_) throw UsageError(file_.string() + " can't be written: " + std::strerror(errno));
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  OutputFile output(file);
  output.write(text);
  output.finish();
}

}  // namespace compatcheck::cli
