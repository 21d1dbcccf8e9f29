// The kinds of stdout and stderr.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "cli/options.h"
#include "compatcheck/run.h"

namespace compatcheck::cli {

// Colours: as asked; else FORCE_COLOR, NO_COLOR, and whether stdout is a terminal that has them.
bool use_color(When when);
std::size_t terminal_width();               // columns of stdout: COLUMNS, or the terminal's; 100 if it is none
std::optional<std::size_t> stdout_width();  // nullopt if it is no terminal
std::size_t processors();                   // processors that this process may use

// One line on stderr, overwritten as work goes on, and erased at the end.
class ProgressLine {
 public:
  explicit ProgressLine(When when);
  ~ProgressLine();
  void show(const std::string& text);
  void clear();
  static bool is_shown();   // async-signal-safe
  static void make_room();  // erases the line that is shown, if any, before a message

 private:
  bool on_;
  static std::atomic<bool> shown_;  // the terminal has one line
};

// A message on stderr; characters that would control a terminal are escaped.
void write_message(const std::string& text);
// Lines of a page for people, wrapped where stdout is a terminal that is narrower.
std::string for_terminal(const std::string& text);
// Prints the error that ended a command, and returns its exit code.
int end_with(const std::exception& error);
// Throws UsageError, naming the file, when not all bytes could be written.
void write_stdout(const std::string& text);

}  // namespace compatcheck::cli
