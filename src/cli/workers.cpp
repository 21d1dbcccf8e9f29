#include "cli/workers.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "cli/terminal.h"
#include "compatcheck/error.h"
#include "process/time_bound.h"
#include "process/unfinished.h"

namespace compatcheck::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A request is an item's number; an answer its length, then its bytes. Both ends are one machine.
using Number = std::uint64_t;

bool send_all(int socket, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_number(int socket, Number& number) {
  std::size_t have = 0;
  while (have < sizeof number) {
    const ssize_t got = ::recv(socket, reinterpret_cast<char*>(&number) + have, sizeof number - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(value, now.rlim_max);
  ::setrlimit(resource, &now);
}

[[noreturn]] void serve(int socket, const WorkerOptions& options, const MakeWork& make) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer's shadow memory counts, too
  if (options.memory_mb) limit(RLIMIT_DATA, std::min<std::uint64_t>(options.memory_mb, RLIM_INFINITY >> 20) << 20);
#endif
  try {
    const Work work = make();
    for (Number item = 0; receive_number(socket, item);) {
      const std::string answer = work(static_cast<std::size_t>(item));
      const Number size = answer.size();
      if (!send_all(socket, &size, sizeof size) || !send_all(socket, answer.data(), answer.size())) break;
    }
  } catch (...) {  // its item is reported as lost
    ::_exit(1);
  }
  ::_exit(0);
}

struct Worker {
  pid_t pid = -1;
  std::unique_ptr<process::RunningProcess> running{};
  int socket = -1;
  std::optional<std::size_t> item{};
  Clock::time_point until = Clock::time_point::max();
  std::string received{};
};

class Workers {
 public:
  Workers(std::size_t items, const WorkerOptions& options, const MakeWork& make, const Done& done)
      : items_(items),
        options_(options),
        make_(make),
        done_(done),
        workers_(std::min(std::max<std::size_t>(options.processes, 1), items)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    for (auto& worker : workers_) end(worker);
  }

  void run() {
    for (;;) {
      bool busy = false;
      for (auto& worker : workers_) {
        if (!worker.item && next_ < items_ && runs(worker)) give(worker);
        busy |= worker.item.has_value();
      }
      if (busy)
        wait();
      else if (next_ < items_)
        done_(next_++, {}, "no process can be started for it: " + std::string(std::strerror(error_)));
      else
        return;
    }
  }

 private:
  // Where the system has no room for a process more, those that run go on by themselves.
  bool runs(Worker& worker) { return worker.pid >= 0 || start(worker); }

  bool start(Worker& worker) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      error_ = errno;
      return false;
    }
    std::fflush(nullptr);  // otherwise both processes would write buffered output
    const pid_t pid = ::fork();
    if (pid < 0) {
      error_ = errno;
      ::close(ends[0]);
      ::close(ends[1]);
      return false;
    }
    if (pid == 0) {
      ::close(ends[0]);
      for (const auto& other : workers_)
        if (other.socket >= 0) ::close(other.socket);
      serve(ends[1], options_, make_);
    }
    ::close(ends[1]);
    worker =
        Worker{.pid = pid, .running = std::make_unique<process::RunningProcess>(pid, process::EndedBy::word), .socket = ends[0]};
    return true;
  }

  void give(Worker& worker) {
    worker.item = next_++;
    worker.until = Clock::time_point::max();
    if (options_.seconds > 0 && options_.seconds < process::longest_seconds)
      worker.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
    const Number number = *worker.item;
    send_all(worker.socket, &number, sizeof number);  // a dead process is noticed when its socket is read
  }

  void wait() {
    std::vector<pollfd> sockets;
    std::vector<Worker*> waiting;
    auto first = Clock::time_point::max();
    for (auto& worker : workers_) {
      if (!worker.item) continue;
      sockets.push_back({worker.socket, POLLIN, 0});
      waiting.push_back(&worker);
      first = std::min(first, worker.until);
    }
    ::poll(sockets.data(), sockets.size(), milliseconds_to(first));
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents) read(*waiting[i]);
      if (waiting[i]->item && Clock::now() >= waiting[i]->until)
        fail(*waiting[i], "took longer than " + std::to_string(static_cast<long long>(options_.seconds)) + " s");
    }
  }

  static int milliseconds_to(Clock::time_point until) {
    if (until == Clock::time_point::max()) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count() + 1;
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  }

  void read(Worker& worker) {
    std::array<char, 1 << 16> bytes{};
    const ssize_t got = ::recv(worker.socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return fail(worker, {});
    worker.received.append(bytes.data(), static_cast<std::size_t>(got));
    Number size = 0;
    if (worker.received.size() < sizeof size) return;
    std::memcpy(&size, worker.received.data(), sizeof size);
    if (worker.received.size() < sizeof size + size) return;
    const std::size_t item = *worker.item;
    const std::string answer = worker.received.substr(sizeof size);
    worker.item.reset();
    worker.received.clear();
    if (next_ < items_) give(worker);  // the worker continues while its answer is read
    done_(item, answer, {});
  }

  void fail(Worker& worker, std::string why) {
    const std::size_t item = *worker.item;
    const int status = end(worker);
    if (why.empty()) why = ended_how(status);
    done_(item, {}, why);
  }

  static std::string ended_how(int status) {
    if (!WIFSIGNALED(status)) return "its process ended without an answer";
    if (WTERMSIG(status) == SIGKILL) return "its process was killed (SIGKILL): the machine was probably out of memory";
    return "its process crashed (" + std::string(::strsignal(WTERMSIG(status))) + ")";
  }

  // Closing the socket ends one that waits; one that works is killed. Gives how it ended.
  static int end(Worker& worker) {
    if (worker.pid < 0) return 0;
    int status = 0;
    pid_t waited = worker.item ? ::waitpid(worker.pid, &status, WNOHANG) : 0;
    if (waited == 0 && worker.item) {
      ::usleep(leave_microseconds);  // a dying process needs time to exit with its status
      if ((waited = ::waitpid(worker.pid, &status, WNOHANG)) == 0) ::kill(worker.pid, SIGKILL);
    }
    ::close(worker.socket);
    while (waited == 0 && ::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker = Worker{};
    return status;
  }

  static constexpr useconds_t leave_microseconds = 20'000;

  std::size_t items_, next_ = 0;
  int error_ = 0;  // reason why the last process couldn't be started
  const WorkerOptions& options_;
  const MakeWork& make_;
  const Done& done_;
  std::vector<Worker> workers_;
};

}  // namespace

void work_apart(std::size_t items, const WorkerOptions& options, const MakeWork& make, const Done& done) {
  if (items > 0) Workers(items, options, make, done).run();
}

int command_apart(const std::string& model, double seconds, const std::function<int()>& command, const std::string& what) {
  int exit_code = 0;
  const MakeWork make = [&]() -> Work {
    return [&](std::size_t) {
      std::string code;
      try {
        code = std::to_string(command());
      } catch (const std::exception& error) {
        code = std::to_string(end_with(error));
      }
      std::fflush(nullptr);
      return code;
    };
  };
  work_apart(1, {.seconds = seconds}, make, [&](std::size_t, const std::string& answer, const std::string& failure) {
    if (!failure.empty()) throw ModelError(model + ": " + failure + (what.empty() ? "" : ", " + what));
    exit_code = std::stoi(answer);
  });
  return exit_code;
}

}  // namespace compatcheck::cli
