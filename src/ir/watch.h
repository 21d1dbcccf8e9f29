// Whether to go on: asked by everything that walks a graph.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

namespace compatcheck::ir {

// Copies share what they count. Of one thread.
class Watch {
 public:
  Watch() = default;  // ends nothing
  // `cancelled` may be empty. The time runs from here.
  Watch(std::function<bool()> cancelled, double seconds);
  // One that ends with this one, and throws ModelError after so many steps: for work that may be given up. Counts from 0.
  Watch within(std::uint64_t most_steps) const;

  // Throws Cancelled, or ModelError when the time or the steps are up. Cheap: looks every so many steps.
  void step(std::uint64_t count = 1) const {
    if (!state_) return;
    const std::uint64_t before = state_->steps;
    state_->steps += count;
    if (before / steps_between_looks != state_->steps / steps_between_looks) look();
  }
  void look() const;
  std::uint64_t steps() const { return state_ ? state_->steps : 0; }

 private:
  static constexpr std::uint64_t steps_between_looks = 256;
  struct State {
    std::function<bool()> cancelled;
    double seconds = 0;
    std::optional<std::chrono::steady_clock::time_point> end{};  // absent: later than the clock can say
    std::uint64_t steps = 0, most_steps = std::numeric_limits<std::uint64_t>::max();
  };
  std::shared_ptr<State> state_;
};

}  // namespace compatcheck::ir
