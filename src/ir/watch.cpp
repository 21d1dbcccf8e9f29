#include "ir/watch.h"

#include <utility>

#include "compatcheck/error.h"
#include "ir/number_text.h"
#include "process/time_bound.h"

namespace compatcheck::ir {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Watch::Watch(std::function<bool()> cancelled, double seconds) : state_(std::make_shared<State>()) {
  state_->cancelled = std::move(cancelled);
  state_->seconds = seconds;
  if (seconds < process::longest_seconds)
    state_->end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Watch Watch::within(std::uint64_t most_steps) const {
  Watch bounded;
  bounded.state_ = state_ ? std::make_shared<State>(*state_) : std::make_shared<State>();
  bounded.state_->steps = 0;
  bounded.state_->most_steps = most_steps;
  return bounded;
}

void Watch::look() const {
  if (!state_) return;
  if (state_->cancelled && state_->cancelled()) throw Cancelled("cancelled");
  if (state_->end && Clock::now() >= *state_->end)
    throw ModelError("working through the model's graph was stopped after " + plainly(state_->seconds) +
                     " s (CheckOptions::timeout_seconds gives it more)");
  if (state_->steps > state_->most_steps) throw ModelError("working through the model's graph takes too many steps");
}

}  // namespace compatcheck::ir
