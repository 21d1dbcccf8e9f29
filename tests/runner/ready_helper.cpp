// Tests of small models spend most of their time on loading libtorch. This file makes two things that spare it:
//
// - a library to be preloaded into compatcheck-torchscript, which stops that program before main(), when libtorch is loaded, and
// forks a
//   copy for each client, which goes on to main();
// - a program, the client, which tests give as COMPATCHECK_HELPER. The copy gets its files, folder and environment, and dies with
// it; it
//   ends as the copy did. Bounds of memory don't reach the copy.
//
// The environment names the socket between them. Without it, the client becomes the helper program.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using Files = std::array<int, 3>;
constexpr Files given{1, 2, 3};  // output, errors, and the socket of src/frontend/protocol.h

const char* socket_path() { return std::getenv("COMPATCHECK_READY_HELPER"); }

const sockaddr* address() {
  static sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path());
  return reinterpret_cast<const sockaddr*>(&address);
}

// A message of one byte that carries the files.
struct Message {
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(Files))]{};
  iovec part{&byte, 1};
  msghdr header{nullptr, 0, &part, 1, control, sizeof control, 0};
};

#ifdef COMPATCHECK_HELPER

}  // namespace

int main(int, char** arguments) {
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!socket_path() || ::connect(server, address(), sizeof(sockaddr_un)) != 0) {
    ::execv(COMPATCHECK_HELPER, arguments);
    return 127;
  }
  Message message;
  cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  *head = {CMSG_LEN(sizeof given), SOL_SOCKET, SCM_RIGHTS};
  std::memcpy(CMSG_DATA(head), given.data(), sizeof given);
  if (::sendmsg(server, &message.header, MSG_NOSIGNAL) != 1) return 127;
  for (const int file : given) ::close(file);  // whoever reads from the copy sees its end
  int status = 0;
  if (::recv(server, &status, sizeof status, MSG_WAITALL) != sizeof status) return 127;
  if (WIFSIGNALED(status)) ::raise(WTERMSIG(status));
  return WEXITSTATUS(status);
}

#else

bool receive_files(int socket, Files& files) {
  Message message;
  if (::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC) != 1) return false;
  const cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  if (!head || head->cmsg_len != CMSG_LEN(sizeof files)) return false;
  std::memcpy(files.data(), CMSG_DATA(head), sizeof files);
  for (int& file : files)  // out of the way of the numbers that they get
    if (const int near = std::exchange(file, ::fcntl(file, F_DUPFD_CLOEXEC, 16)); near >= 0) ::close(near);
  return true;
}

// In the copy.
void become(pid_t client, const Files& files) {
  for (std::size_t i = 0; i < files.size(); ++i) ::dup2(files[i], given[i]), ::close(files[i]);
  const std::string process = "/proc/" + std::to_string(client);
  if (::chdir((process + "/cwd").c_str()) != 0) ::_exit(127);
  std::ifstream file(process + "/environ", std::ios::binary);
  static std::string text;  // the environment lies in it
  text.assign(std::istreambuf_iterator<char>(file), {});
  ::clearenv();
  for (std::size_t start = 0; start < text.size(); start = text.find('\0', start) + 1) ::putenv(text.data() + start);
}

// Forks the copy, which returns; tells the client how it ended.
void watch(int client) {
  Files files{};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!receive_files(client, files) || ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) ::_exit(1);
  const pid_t copy = ::fork();
  if (copy == 0) {
    ::close(client);
    return become(peer.pid, files);
  }
  for (const int file : files) ::close(file);
  std::array<pollfd, 2> events{{{static_cast<int>(::syscall(SYS_pidfd_open, copy, 0)), POLLIN, 0}, {client, POLLIN, 0}}};
  ::poll(events.data(), events.size(), -1);
  if (!events[0].revents) ::kill(copy, SIGKILL);  // the client is gone
  int status = 0;
  ::waitpid(copy, &status, 0);
  ::_exit(::send(client, &status, sizeof status, MSG_NOSIGNAL) != sizeof status);
}

// libtorch lists its operators before it first reads a model.
void warm_up() {
  using Operators = std::vector<std::shared_ptr<void> >;
  if (void* all = ::dlsym(RTLD_DEFAULT, "_ZN5torch3jit15getAllOperatorsEv")) reinterpret_cast<Operators (*)()>(all)();
}

// Returns in copies only.
void serve() {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  warm_up();
  if (::bind(listener, address(), sizeof(sockaddr_un)) != 0 || ::listen(listener, 64) != 0) {
    std::perror("ready_helper");
    ::_exit(1);
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0 && ::fork() == 0) {
      ::close(listener);
      ::signal(SIGCHLD, SIG_DFL);
      return watch(client);
    }
    ::close(client);
  }
}

}  // namespace

// glibc's, which calls main() when all libraries are loaded.
extern "C" int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  if (socket_path()) serve();
  const auto next = reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}

#endif
