#include "process/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "compatcheck/printable.h"
#include "process/callback.h"

namespace compatcheck {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: break;
  }
  return spdlog::level::warn;
}

LogLevel level_of(spdlog::level::level_enum level) {
  return level <= spdlog::level::debug ? LogLevel::debug : level == spdlog::level::info ? LogLevel::info : LogLevel::warning;
}

// spdlog ends what a sink throws; it is kept here until the logger has returned.
thread_local std::exception_ptr thrown_by_sink;

class CallingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallingSink(LogSink called) : sink_(std::move(called)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    try {
      sink_(level_of(message.level), {message.payload.data(), message.payload.size()});
    } catch (...) {
      thrown_by_sink = std::current_exception();
    }
  }
  void flush_() override {}

  LogSink sink_;
};

// A logger isn't changed while it is used: another takes its place.
struct Log {
  std::mutex mutex;
  spdlog::sink_ptr callback, file;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<int> least = spdlog::level::off;

  void renew() {
    std::vector<spdlog::sink_ptr> sinks;
    int lowest = spdlog::level::off;
    for (const auto& sink : {callback, file})
      if (sink) {
        sinks.push_back(sink);
        lowest = std::min<int>(lowest, sink->level());
      }
    logger = sinks.empty() ? nullptr : std::make_shared<spdlog::logger>("compatcheck", sinks.begin(), sinks.end());
    if (logger) {
      logger->set_level(static_cast<spdlog::level::level_enum>(lowest));
      logger->flush_on(spdlog::level::trace);                // a process that crashes leaves what it said
      logger->set_error_handler([](const std::string&) {});  // a full disk must not fail the work
    }
    least = lowest;
  }
};

Log& the_log() {
  static auto* const log = new Log;  // destructors of others may still log
  return *log;
}

}  // namespace

void set_log_sink(LogLevel least, LogSink sink) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.callback = sink ? std::make_shared<CallingSink>(std::move(sink)) : nullptr;
  if (log.callback) log.callback->set_level(level_of(least));
  log.renew();
}

void set_log_file(LogLevel least, const std::filesystem::path& file) {
  spdlog::sink_ptr made;
  if (!file.empty()) try {
      made = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
    } catch (const spdlog::spdlog_ex& error) {
      throw UsageError(file.string() + ": the log can't be written: " + error.what());
    }
  if (made) {
    made->set_level(level_of(least));
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e [%P] %l: %v");
  }
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.file = std::move(made);
  log.renew();
}

bool logging::enabled(LogLevel level) { return level_of(level) >= the_log().least; }

void log(LogLevel level, std::string_view text) {
  if (!logging::enabled(level)) return;
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::lock_guard lock(the_log().mutex);
    logger = the_log().logger;
  }
  if (!logger) return;
  thrown_by_sink = nullptr;
  logger->log(level_of(level), std::string_view(printable(text)));
  if (thrown_by_sink) throw process::CallbackFailed{std::exchange(thrown_by_sink, nullptr)};
}

}  // namespace compatcheck
