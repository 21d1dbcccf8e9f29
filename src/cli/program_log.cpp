#include "cli/program_log.h"

#include <cstdio>

#include "cli/terminal.h"
#include "compatcheck/log.h"

namespace compatcheck::cli {
namespace {

std::string_view word(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: break;
  }
  return "warning";
}

// One call, so that lines of several processes don't mix.
void write_line(LogLevel level, std::string_view text) {
  ProgressLine::make_room();
  std::fputs(("compatcheck: " + std::string(word(level)) + ": " + std::string(text) + "\n").c_str(), stderr);
}

}  // namespace

void start_log(const Options& options) {
  std::optional<LogLevel> level;
  if (options.verbosity > 0) level = options.verbosity == 1 ? LogLevel::info : LogLevel::debug;
  if (options.log) level = *options.log;
  if (level) set_log_sink(*level, write_line);
  if (!options.log_file.empty())
    set_log_file(options.log ? options.log->value_or(LogLevel::debug) : LogLevel::debug, options.log_file);
}

}  // namespace compatcheck::cli
