// Work in processes of their own: what crashes, hangs or eats memory costs its item and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace compatcheck::cli {

struct WorkerOptions {
  std::size_t processes = 1;
  double seconds = 0;           // limit for one item; its process is killed afterwards; 0: no limit
  std::uint64_t memory_mb = 0;  // limit of one process; 0: the limit of this process
};

// Called once in each process. The function that it returns is called there for one item after another, and keeps its state.
using Work = std::function<std::string(std::size_t item)>;
using MakeWork = std::function<Work()>;
// Called in this process, in the order in which items end. `failure` is the reason why there is no answer; empty if there is
// one.
using Done = std::function<void(std::size_t item, const std::string& answer, const std::string& failure)>;

// Must be called while the program has one thread: processes are forked.
void work_apart(std::size_t items, const WorkerOptions& options, const MakeWork& make, const Done& done);

// Runs a whole command in a process, because plugins may crash it or never end. Returns its exit code. Its output goes to this
// process's streams. Throws ModelError, naming the model, if it crashes or takes longer than `seconds` (0: no limit). `what`
// is added to the message.
int command_apart(const std::string& model, double seconds, const std::function<int()>& command, const std::string& what = {});

}  // namespace compatcheck::cli
