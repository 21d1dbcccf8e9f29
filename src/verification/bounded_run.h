// Work that ends at a bound of time, or when the caller cancels it.
#pragma once

#include <exception>
#include <functional>
#include <limits>

namespace compatcheck::verification {

// Limits each run of a session. A run ends at the next node: a kernel is never interrupted.
struct RunBounds {
  double seconds = std::numeric_limits<double>::infinity();
  std::function<bool()> cancelled{};  // may be empty; called by the thread that runs the session
};

struct Ended {
  bool late = false;          // it was stopped because its time was up
  std::exception_ptr failed;  // Cancelled, or what `cancelled` threw
};

// Runs `work` in a thread of its own, so that `bounds.cancelled` is called by the caller's thread. `stop` must make `work` end
// soon; it is called at most once. Returns when `work` has ended, and throws what `work` threw.
Ended run_within(const RunBounds& bounds, const std::function<void()>& work, const std::function<void()>& stop);

}  // namespace compatcheck::verification
