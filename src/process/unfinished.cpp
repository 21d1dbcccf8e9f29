#include "process/unfinished.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace compatcheck::process {

// Notes are used again and never freed: a signal may come at any time. Whoever holds `owner` at 0 → own number may fill it.
struct Note {
  std::atomic<pid_t> owner = 0;  // 0: free
  std::atomic<const char*> path = nullptr;
  std::atomic<pid_t> pid = 0;
  EndedBy by = EndedBy::kill;
  Note* next = nullptr;
};

namespace {

std::atomic<Note*> first = nullptr;
std::atomic<pid_t> ending = 0;  // the process that clears away; forked children go on

Note& take_note() {
  const pid_t own = ::getpid();
  while (ending == own) ::pause();
  for (Note* note = first; note; note = note->next) {
    pid_t free = 0;
    if (note->owner == 0 && note->owner.compare_exchange_strong(free, own)) return *note;
  }
  auto* const made = new Note;
  made->owner = own;
  made->next = first;
  while (!first.compare_exchange_weak(made->next, made)) {
  }
  return *made;
}

void leave(Note& note) {
  note.path = nullptr;
  note.pid = 0;
  note.owner = 0;
}

constexpr int deepest_folder = 8;  // ours are flat but for backend tests' data sets

// opendir() allocates, which a signal handler must not do.
void remove_contents(int folder, int depth) {
  struct Entry {  // linux_dirent64
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t length;
    std::uint8_t type;
    char name[1];
  };
  alignas(Entry) char bytes[4096];
  for (;;) {
    const long got = ::syscall(SYS_getdents64, folder, bytes, sizeof bytes);
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const Entry*>(bytes + at);
      at += entry->length;
      const char* const name = entry->name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (::unlinkat(folder, name, 0) == 0 || depth == 0) continue;
      const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (inner < 0) continue;
      remove_contents(inner, depth - 1);
      ::close(inner);
      ::unlinkat(folder, name, AT_REMOVEDIR);
    }
  }
}

void remove(const char* path) {
  if (::unlink(path) == 0) return;
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  remove_contents(folder, deepest_folder);
  ::close(folder);
  ::rmdir(path);
}

template <class Visit>
void for_each_own(Visit&& visit) {
  const pid_t own = ::getpid();
  for (Note* note = first; note; note = note->next)
    if (note->owner == own) visit(*note);
}

// Waits for those that were told to end, half a second in all.
void end_processes() {
  for_each_own([](const Note& note) {
    if (const pid_t pid = note.pid) ::kill(pid, note.by == EndedBy::kill ? SIGKILL : SIGTERM);
  });
  int tries = 50;
  for_each_own([&](const Note& note) {
    const pid_t pid = note.pid;
    if (!pid) return;
    const timespec pause{0, 10'000'000};
    while (::waitpid(pid, nullptr, WNOHANG) == 0) {
      if (tries-- <= 0) ::kill(pid, SIGKILL);
      ::nanosleep(&pause, nullptr);
    }
  });
}

}  // namespace

UnfinishedPath::UnfinishedPath(const std::filesystem::path& path) : path_(path.string()), note_(&take_note()) {
  note_->path = path_.c_str();
}
UnfinishedPath::~UnfinishedPath() { leave(*note_); }

RunningProcess::RunningProcess(pid_t pid, EndedBy by) : note_(&take_note()) {
  note_->by = by;
  note_->pid = pid;
}
RunningProcess::~RunningProcess() { leave(*note_); }

void clear_away() noexcept {
  const pid_t own = ::getpid();
  while (ending.exchange(own) == own) ::pause();  // another thread got a signal before
  end_processes();
  for_each_own([](const Note& note) {
    if (const char* path = note.path) remove(path);
  });
}

}  // namespace compatcheck::process
