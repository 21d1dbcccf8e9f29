// The log, as the library's rooms write it: logging::info("read {}", file). compatcheck/log.h says where it goes.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "compatcheck/log.h"

namespace compatcheck::logging {

bool enabled(LogLevel level);  // whether anybody listens

// Nothing is formatted that nobody reads.
template <class... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(LogLevel::info)) compatcheck::log(LogLevel::info, fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
void debug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(LogLevel::debug)) compatcheck::log(LogLevel::debug, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// Says at level debug how long a step took.
class Timed {
 public:
  explicit Timed(std::string step) : step_(std::move(step)) {}
  void done() const {
    debug("{}: {:.1f} ms", step_, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  std::string step_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace compatcheck::logging
