#include "cli/output_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "compatcheck/error.h"

namespace compatcheck::cli {

namespace {

// Returns the file that a link leads to, which may not exist yet.
std::filesystem::path followed(std::filesystem::path file) {
  constexpr int most_links = 40;  // Linux's limit
  std::error_code error;
  for (int links = 0; links < most_links && std::filesystem::is_symlink(file, error); ++links)
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  return file;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)), written_(file_) {
  std::error_code error;
  const bool in_place = std::filesystem::exists(file_, error) && !std::filesystem::is_regular_file(file_, error);
  if (!in_place) {
    target_ = followed(file_);
    written_ = target_.string() + ".tmp" + std::to_string(::getpid());
    unfinished_ = std::make_unique<process::UnfinishedPath>(written_);
  }
  stream_.open(written_, std::ios::binary | std::ios::trunc);
  check();
}

OutputFile::~OutputFile() {
  if (!unfinished_) return;
  std::error_code error;
  std::filesystem::remove(written_, error);
}

void OutputFile::write(const std::string& text) {
  stream_ << text << std::flush;
  check();
}

void OutputFile::finish() {
  stream_.close();
  check();
  if (!unfinished_) return;
  std::error_code error;
  std::filesystem::rename(written_, target_, error);
  if (error) throw UsageError(file_.string() + " can't be written: " + error.message());
  unfinished_.reset();
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
