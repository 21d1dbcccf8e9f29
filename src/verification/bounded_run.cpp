#include "verification/bounded_run.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "compatcheck/error.h"
#include "process/time_bound.h"

namespace compatcheck::verification {

Ended run_within(const RunBounds& bounds, const std::function<void()>& work, const std::function<void()>& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_looks{50};
  const std::chrono::duration<double> longest(std::clamp(bounds.seconds, 0.0, process::longest_seconds));
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(longest);
  Ended how;
  std::future<void> running = std::async(std::launch::async, work);
  while (running.wait_for(between_looks) != std::future_status::ready) {
    if (how.late || how.failed) continue;
    try {
      if (bounds.cancelled && bounds.cancelled()) throw Cancelled("cancelled");
    } catch (...) {  // the thread must end before it leaves
      how.failed = std::current_exception();
    }
    how.late = !how.failed && Clock::now() >= end;
    if (how.late || how.failed) stop();
  }
  running.get();
  return how;
}

}  // namespace compatcheck::verification
