#include "cli/output_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "compatcheck/error.h"

namespace compatcheck::cli {

// A name that must not stay when a signal ends the program. Places in the list are used again and never freed: a signal may come
// at any time.
struct OutputFile::Temporary {
  std::atomic<const char*> name = nullptr;
  Temporary* next = nullptr;

  static Temporary& of(const char* name);
  static void remove_all(int signal);
  static void remove_all_at_signals();

  inline static std::atomic<Temporary*> first = nullptr;
  inline static pid_t owner = 0;  // processes that are forked leave them alone
};

void OutputFile::Temporary::remove_all(int signal) {
  if (::getpid() == owner)
    for (const Temporary* each = first; each; each = each->next)
      if (const char* name = each->name) ::unlink(name);
  ::raise(signal);  // the handler is the default again, which ends the program
}

void OutputFile::Temporary::remove_all_at_signals() {
  owner = ::getpid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {
    }, before{};
    action.sa_handler = remove_all;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);  // nohup ignores one
  }
}

OutputFile::Temporary& OutputFile::Temporary::of(const char* name) {
  if (!first) remove_all_at_signals();
  for (Temporary* each = first; each; each = each->next)
    if (!each->name) {
      each->name = name;
      return *each;
    }
  auto* const made = new Temporary;
  made->name = name;
  made->next = first;
  first = made;
  return *made;
}

namespace {

// What a link leads to, which may be nothing yet.
std::filesystem::path followed(std::filesystem::path file) {
  constexpr int most_links = 40;  // as Linux has it
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
    temporary_ = &Temporary::of(written_.c_str());
  }
  stream_.open(written_, std::ios::binary | std::ios::trunc);
  check();
}

OutputFile::~OutputFile() {
  if (!temporary_) return;
  std::error_code error;
  std::filesystem::remove(written_, error);
  temporary_->name = nullptr;
}

void OutputFile::write(const std::string& text) {
  stream_ << text << std::flush;
  check();
}

void OutputFile::finish() {
  stream_.close();
  check();
  if (!temporary_) return;
  std::error_code error;
  std::filesystem::rename(written_, target_, error);
  if (error) throw UsageError(file_.string() + " can't be written: " + error.message());
  temporary_->name = nullptr;
  temporary_ = nullptr;
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
