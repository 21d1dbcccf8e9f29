// Options of every long call: how to show progress, how to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace compatcheck {

struct Progress {
  std::string_view stage;  // "load", "check"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0: not known
};

// All optional. An exception that a callback throws passes unchanged through the call. The library itself prints nothing,
// never exits and installs no signal handler; compatcheck/log.h describes what it logs.
struct RunOptions {
  std::function<void(const Progress&)> progress{};
  // Set to true, from whichever thread: the call throws Cancelled soon after, in the middle of its work.
  std::shared_ptr<const std::atomic<bool>> cancel{};
};

}  // namespace compatcheck
