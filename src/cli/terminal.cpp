#include "cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "compatcheck/printable.h"

namespace compatcheck::cli {
namespace {

constexpr std::size_t default_width = 100;

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

}  // namespace

bool use_color(When when) {
  if (when != When::automatic) return when == When::always;
  if (set("FORCE_COLOR")) return true;
  const char* terminal = std::getenv("TERM");
  return !set("NO_COLOR") && isatty(STDOUT_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

std::size_t terminal_width() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return default_width;
  return size.ws_col;
}

std::size_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
}

ProgressLine::ProgressLine(When when) : on_(when == When::always || (when == When::automatic && isatty(STDERR_FILENO))) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& text) {
  if (!on_) return;
  std::fprintf(stderr, "\r\x1b[K%s", printable(text).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

void write_message(const std::string& text) { std::fprintf(stderr, "compatcheck: %s\n", printable_lines(text).c_str()); }

void write_stdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return;  // a reader that has seen enough is no error
  throw UsageError(std::string("stdout can't be written: ") + std::strerror(errno));
}

}  // namespace compatcheck::cli
