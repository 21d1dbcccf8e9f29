// Files, folders and processes that must not outlive this process when a signal ends it.
// The library only notes them; who handles signals calls clear_away().
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace compatcheck::process {

struct Note;

// A file, or a folder with all that is in it. Note it before it is made.
class UnfinishedPath {
 public:
  explicit UnfinishedPath(const std::filesystem::path& path);
  ~UnfinishedPath();  // it is finished, or gone
  UnfinishedPath(const UnfinishedPath&) = delete;
  UnfinishedPath& operator=(const UnfinishedPath&) = delete;

 private:
  std::string path_;
  Note* note_;
};

enum class EndedBy {
  kill,  // it has nothing to clear away
  word,  // SIGTERM, upon which it clears away what is its own; killed if it takes long
};

class RunningProcess {
 public:
  RunningProcess(pid_t pid, EndedBy by);
  ~RunningProcess();  // it has ended
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;

 private:
  Note* note_;
};

// Removes the paths and ends the processes that this process noted; a forked one leaves alone what its parent noted. Whoever
// notes something afterwards waits forever, and so does who calls it a second time. Async-signal-safe; only _exit() may follow.
void clear_away() noexcept;

}  // namespace compatcheck::process
