// Long calls of the library: without the interpreter's lock, ended by Ctrl-C, with progress.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "compatcheck/run.h"

namespace compatcheck::python {

// The library works on a thread of its own; the calling thread, on which alone Python answers to signals, waits for it.
class Work {
 public:
  // `progress`: None, or called with (stage, done, total) on the calling thread.
  explicit Work(nanobind::object progress) : progress_(std::move(progress)) {}

  RunOptions run_options();

  // Throws what `function` throws, and what Python's signal handlers and `progress` throw, once the work has ended.
  template <class Function>
  auto run(Function function) {
    auto result = std::async(std::launch::async, std::move(function));
    try {
      while (!ended(result)) look();
      look();  // a Ctrl-C in a terminal has ended the helper program as well, which isn't what the user shall read
    } catch (...) {
      *cancel_ = true;
      const nanobind::gil_scoped_release release;
      result.wait();
      throw;
    }
    return result.get();
  }

 private:
  static constexpr std::chrono::milliseconds look_every{50};

  template <class Future>
  static bool ended(const Future& result) {
    const nanobind::gil_scoped_release release;
    return result.wait_for(look_every) == std::future_status::ready;
  }

  void look();

  struct State {
    std::string stage;
    std::uint64_t done, total;
  };

  nanobind::object progress_;
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::optional<State> latest_;
};

}  // namespace compatcheck::python
