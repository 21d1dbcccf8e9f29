#include "cli/terminal.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "compatcheck/check.h"
#include "compatcheck/printable.h"
#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

constexpr std::size_t default_width = 100;

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// Columns, if it is a terminal; a user's word goes before the terminal's own.
std::optional<std::size_t> width_of(int stream) {
  if (!isatty(stream)) return std::nullopt;
  if (const char* columns = std::getenv("COLUMNS")) {
    std::size_t width = 0;
    const char* const end = columns + std::strlen(columns);
    if (const auto read = std::from_chars(columns, end, width); read.ec == std::errc() && read.ptr == end && width > 0)
      return width;
  }
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return default_width;
  return size.ws_col;
}

// The first `most` characters: with one more the line would wrap and could not be erased.
std::string cut(std::string text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && characters++ == most) text.resize(i);
  return text;
}

}  // namespace

bool use_color(When when) {
  if (when != When::automatic) return when == When::always;
  if (set("FORCE_COLOR")) return true;
  const char* terminal = std::getenv("TERM");
  return !set("NO_COLOR") && isatty(STDOUT_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

std::optional<std::size_t> stdout_width() { return width_of(STDOUT_FILENO); }
std::size_t terminal_width() { return stdout_width().value_or(default_width); }

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
  std::string line = printable(text);
  if (const auto width = width_of(STDERR_FILENO)) line = cut(std::move(line), *width - 1);
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (on_) make_room();
}

std::atomic<bool> ProgressLine::shown_ = false;

bool ProgressLine::is_shown() { return shown_; }

void ProgressLine::make_room() {
  if (!shown_.exchange(false)) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void write_message(const std::string& text) {
  std::fprintf(stderr, "compatcheck: %s\n", printable_lines(with_flags(text)).c_str());
}

namespace {

// A code of color has no columns, nor have the bytes of a character after its first.
bool has_column(const std::string& line, std::size_t& at) {
  if (line[at] == '\x1b') {
    at = std::min(line.find('m', at), line.size() - 1);
    return false;
  }
  return (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80;
}

// Where the line's last column of text begins, if it is in the left half: wrapped lines are indented to it. 0: there is none.
std::size_t hanging_column(const std::string& line, std::size_t width) {
  std::size_t column = 0, spaces = 0, found = 0;
  bool text = false;
  for (std::size_t at = 0; at < line.size() && column <= width / 2; ++at) {
    if (!has_column(line, at)) continue;
    if (line[at] != ' ' && spaces > 1 && text) found = column;
    text |= line[at] != ' ';
    spaces = line[at] == ' ' ? spaces + 1 : 0;
    ++column;
  }
  return found;
}

// At spaces; a word that is too long stays whole.
std::string broken(const std::string& line, std::size_t width, std::size_t hanging) {
  std::string text;
  std::size_t begin = 0, space = std::string::npos, column = 0;
  bool blank = true;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ' ' && !blank && line[at - 1] != ' ') space = at;
    blank &= line[at] == ' ';
    if (!has_column(line, at) || ++column <= width || space == std::string::npos) continue;
    text += line.substr(begin, space - begin);
    begin = line.find_first_not_of(' ', space);
    if (begin == std::string::npos) return text;
    text += "\n" + std::string(hanging, ' ');
    at = begin - 1;
    column = hanging;
    space = std::string::npos;
  }
  return text + line.substr(begin);
}

std::string wrapped(const std::string& line, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size(); ++at) columns += has_column(line, at);
  if (columns <= width) return line;
  if (const std::size_t hanging = hanging_column(line, width)) return broken(line, width, hanging);
  const std::size_t lead = line.find_first_not_of(' '), gap = line.find("  ", lead), rest = line.find_first_not_of(' ', gap);
  if (rest == std::string::npos) return broken(line, width, lead + 2);
  const std::string indent(lead + 4, ' ');  // the second column moves below the first
  return broken(line.substr(0, gap), width, lead + 2) + "\n" + broken(indent + line.substr(rest), width, indent.size());
}

}  // namespace

std::string for_terminal(const std::string& text) {
  const auto width = stdout_width();
  if (!width) return text;
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all += wrapped(text.substr(begin, end - begin), *width) + (end < text.size() ? "\n" : "");
    begin = end + 1;
  }
  return all;
}

int end_with(const std::exception& error) {
  write_message(dynamic_cast<const std::bad_alloc*>(&error) ? "out of memory" : error.what());
  return exit_code_of(error);
}

void write_stdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return;  // a reader that stops early is no error
  throw UsageError(std::string("stdout can't be written: ") + std::strerror(errno));
}

}  // namespace compatcheck::cli
