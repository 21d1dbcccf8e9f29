// What is noted as unfinished is gone after clear_away(), and nothing else is.
#include "process/unfinished.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace compatcheck::process {
namespace {

namespace fs = std::filesystem;

class Unfinished : public ::testing::Test {
 protected:
  Unfinished() {
    std::string name = (fs::temp_directory_path() / "unfinished-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Unfinished() override { fs::remove_all(folder_); }

  fs::path file(const char* name) const {
    std::ofstream(folder_ / name) << "x";
    return folder_ / name;
  }

  // In a process of its own, which nothing follows in.
  template <class Work>
  static int in_process(Work&& work) {
    const pid_t pid = ::fork();
    if (pid == 0) work(), ::_exit(7);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static pid_t sleeper() {
    const pid_t pid = ::fork();
    if (pid == 0)
      for (;;) ::pause();
    return pid;
  }

  fs::path folder_;
};

TEST_F(Unfinished, FilesAndFoldersAreRemoved) {
  const fs::path whole = file("whole"), part = file("part");
  fs::create_directories(folder_ / "work" / "inner");
  std::ofstream(folder_ / "work" / "inner" / "a") << "a";
  for (int i = 0; i < 300; ++i) std::ofstream(folder_ / "work" / std::to_string(i)) << i;
  EXPECT_EQ(in_process([&] {
              const UnfinishedPath one(part), two(folder_ / "work"), absent(folder_ / "absent");
              { const UnfinishedPath finished(whole); }
              clear_away();
              ::_exit(0);
            }),
            0);
  EXPECT_TRUE(fs::exists(whole));
  EXPECT_FALSE(fs::exists(part));
  EXPECT_FALSE(fs::exists(folder_ / "work"));
}

TEST_F(Unfinished, AForkedProcessLeavesItsParentsAlone) {
  const UnfinishedPath mine(file("part"));
  in_process([] { clear_away(); });
  EXPECT_TRUE(fs::exists(folder_ / "part"));
}

TEST_F(Unfinished, ProcessesAreEnded) {
  EXPECT_EQ(in_process([&] {
              const pid_t first = sleeper(), second = sleeper();
              const RunningProcess killed(first, EndedBy::kill), asked_to_end(second, EndedBy::word);
              clear_away();
              ::_exit(::kill(first, 0) != 0 && ::kill(second, 0) != 0 ? 0 : 1);
            }),
            0);
}

}  // namespace
}  // namespace compatcheck::process
