#include "cli/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/terminal.h"
#include "process/unfinished.h"

namespace compatcheck::cli {
namespace {

constexpr int exit_interrupted = 130;  // exit code of shells for SIGINT

pid_t program = 0;  // forked workers end without a message

void write_to_terminal(const char* text) {
  for (std::size_t left = std::strlen(text); left > 0;) {
    const ssize_t written = ::write(STDERR_FILENO, text, left);
    if (written <= 0) return;
    text += written;
    left -= static_cast<std::size_t>(written);
  }
}

// Async-signal-safe throughout.
void end(int signal) {
  process::clear_away();
  if (::getpid() == program) {
    if (ProgressLine::is_shown()) write_to_terminal("\r\x1b[K");
    write_to_terminal(signal == SIGINT    ? "compatcheck: interrupted (SIGINT)\n"
                      : signal == SIGTERM ? "compatcheck: interrupted (SIGTERM)\n"
                                          : "compatcheck: interrupted (SIGHUP)\n");
  }
  ::_exit(exit_interrupted);
}

}  // namespace

void end_at_signals() {
  program = ::getpid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {
    }, before{};
    action.sa_handler = end;
    sigfillset(&action.sa_mask);
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace compatcheck::cli
