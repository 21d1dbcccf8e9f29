#include "frontend/helper_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "compatcheck/error.h"
#include "process/time_bound.h"

extern char** environ;

namespace compatcheck::frontend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr rlim_t stack_bytes = rlim_t{64} << 20;
constexpr off_t output_bytes = 16 << 20;  // output beyond this is discarded
constexpr std::size_t tail_bytes = 2000;
constexpr std::chrono::milliseconds leave_time{500};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

[[noreturn]] void cannot_start(const std::string& what, int error) {
  throw UsageError("can't start the program that reads TorchScript: " + what + ": " + std::strerror(error));
}

// Out of the way of the numbers that the child's descriptors get, should the host have closed its standard streams.
int above_standard(int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 16);
  if (moved < 0) cannot_start("descriptors", errno);
  ::close(descriptor);
  return moved;
}

std::vector<std::string> environment(const std::filesystem::path& libraries) {
  std::vector<std::string> variables;
  if (libraries.empty()) {
    for (char** variable = environ; variable && *variable; ++variable) variables.emplace_back(*variable);
    return variables;
  }
  std::string path = "LD_LIBRARY_PATH=" + libraries.string();
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with("LD_LIBRARY_PATH="))
      variables.emplace_back(text);
    else if (text.size() > 16)
      path += ":" + std::string(text.substr(16));
  }
  variables.push_back(std::move(path));
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& string : strings) all.push_back(string.data());
  all.push_back(nullptr);
  return all;
}

// posix_spawn, not fork: the host may be large, and may run threads that hold locks.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  pid_t run(const std::filesystem::path& program, std::vector<std::string> arguments, const std::filesystem::path& libraries,
            int socket, int output) {
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    posix_spawn_file_actions_adddup2(&actions_, output, 2);
    posix_spawn_file_actions_adddup2(&actions_, socket, protocol::helper_socket);
    posix_spawn_file_actions_addclosefrom_np(&actions_, protocol::helper_socket + 1);
    std::vector<std::string> variables = environment(libraries);
    arguments.insert(arguments.begin(), program.string());
    pid_t pid = -1;
    const int error =
        posix_spawn(&pid, program.c_str(), &actions_, &attributes_, pointers(arguments).data(), pointers(variables).data());
    if (error != 0) cannot_start(program.string(), error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Lowers or raises the soft limit of a running process; what the hard one forbids stays as it is.
void set_limit(pid_t pid, __rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::prlimit(pid, resource, nullptr, &now) != 0) return;
  now.rlim_cur = now.rlim_max == RLIM_INFINITY ? value : std::min(value, now.rlim_max);
  ::prlimit(pid, resource, &now, nullptr);
}

struct Memory {
  std::uint64_t anonymous = 0, data = 0;  // bytes; 0 if unknown
};

// Reads /proc/PID/statm, which costs less than the words of /proc/PID/status; its `data` includes the stack.
Memory memory_of(pid_t pid) {
  std::ifstream pages("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t size = 0, resident = 0, of_files = 0, code = 0, libraries = 0, data = 0;
  if (!(pages >> size >> resident >> of_files >> code >> libraries >> data)) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {(resident - std::min(resident, of_files)) * page, data * page};
}

void set_send_timeout(int socket, double seconds) {
  const auto whole = static_cast<time_t>(std::clamp(seconds, 1.0, process::longest_seconds));
  const timeval time{whole, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

}  // namespace

HelperProcess::HelperProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                             const std::filesystem::path& libraries) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) cannot_start("a socket", errno);
  Descriptor ours(ends[0]);
  const Descriptor theirs(above_standard(ends[1]));
  Descriptor output(above_standard(::memfd_create("compatcheck-output", MFD_CLOEXEC)));
  ::fcntl(output.get(), F_SETFL, O_APPEND);
  pid_ = Spawn().run(program, arguments, libraries, theirs.get(), output.get());
  set_limit(pid_, RLIMIT_STACK, stack_bytes);
  set_limit(pid_, RLIMIT_CORE, 0);
  running_ = std::make_unique<process::RunningProcess>(pid_, process::EndedBy::kill);
  socket_ = ours.release();
  output_ = output.release();
}

// It holds nothing that needs tidying, and must not stay as a zombie.
HelperProcess::~HelperProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (output_ >= 0) ::close(output_);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Weights are mapped and don't count; what is there already doesn't either.
void HelperProcess::limit(std::uint64_t data_bytes) const {
#ifdef __SANITIZE_ADDRESS__
  return;  // its shadow memory alone is 16 TB of address space; what is resident is still looked at
#endif
  set_limit(pid_, RLIMIT_DATA, memory_of(pid_).data + data_bytes);
}

bool HelperProcess::alive() {
  if (pid_ >= 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  running_.reset();
  return false;
}

std::uint64_t HelperProcess::resident_bytes() const { return memory_of(pid_).anonymous; }

std::string HelperProcess::output_tail() const {
  struct stat status {};
  if (::fstat(output_, &status) != 0) return {};
  const auto size = std::min<std::size_t>(static_cast<std::size_t>(status.st_size), tail_bytes);
  std::string text(size, '\0');
  const ssize_t got = ::pread(output_, text.data(), size, status.st_size - static_cast<off_t>(size));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

HelperEnd HelperProcess::end(HelperEnd::Cause cause) {
  HelperEnd end{cause, 0, 0, {}};
  if (cause != HelperEnd::Cause::crashed) ::kill(pid_, SIGKILL);
  int status = 0;
  pid_t waited = -1;
  // One that closed its socket is leaving; it gets a moment to do so.
  const auto until = Clock::now() + leave_time;
  while ((waited = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < until) ::usleep(1000);
  if (waited == 0) {
    ::kill(pid_, SIGKILL);
    waited = ::waitpid(pid_, &status, 0);
  }
  if (waited == pid_ && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (waited == pid_ && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  pid_ = -1;
  running_.reset();
  end.printed = output_tail();
  return end;
}

std::variant<std::vector<std::uint8_t>, HelperEnd> HelperProcess::roundtrip(std::span<const std::uint8_t> request, int descriptor,
                                                                            std::uint64_t mapped_bytes,
                                                                            const HelperBounds& bounds) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounds.seconds));
  std::optional<HelperEnd::Cause> stopped;
  const auto go_on = [&] {
    struct stat printed {};
    if (::fstat(output_, &printed) == 0 && printed.st_size > output_bytes) static_cast<void>(::ftruncate(output_, 0));
    if (bounds.cancelled && bounds.cancelled())
      stopped = HelperEnd::Cause::cancelled;
    else if (Clock::now() > until)
      stopped = HelperEnd::Cause::timed_out;
    else if (resident_bytes() > bounds.memory_bytes + mapped_bytes)
      stopped = HelperEnd::Cause::out_of_memory;
    return !stopped;
  };
  limit(bounds.memory_bytes + mapped_bytes);
  set_send_timeout(socket_, bounds.seconds);
  if (!protocol::send_frame(socket_, request, descriptor))
    return end(Clock::now() > until ? HelperEnd::Cause::timed_out : HelperEnd::Cause::crashed);
  protocol::Frame frame;
  switch (protocol::receive_frame(socket_, frame, go_on)) {
    case protocol::Receipt::frame: return std::move(frame.bytes);
    case protocol::Receipt::closed: return end(HelperEnd::Cause::crashed);
    case protocol::Receipt::damaged: return end(HelperEnd::Cause::garbled);
    case protocol::Receipt::idle: break;
  }
  return end(*stopped);
}

}  // namespace compatcheck::frontend
