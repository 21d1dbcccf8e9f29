// Whether to go on: asked by everything that walks a graph.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace compatcheck::ir {

// Copies share what they count. Of one thread.
class Watch {
 public:
  Watch() = default;  // ends nothing
  // `cancelled` may be empty. The time runs from here.
  Watch(std::function<bool()> cancelled, double seconds);

  // Throws Cancelled, or ModelError when the time is up. Cheap: looks every so many steps.
  void step() const {
    if (state_ && ++state_->steps % steps_between_looks == 0) look();
  }
  void look() const;

 private:
  static constexpr std::uint64_t steps_between_looks = 256;
  struct State {
    std::function<bool()> cancelled;
    double seconds = 0;
    std::optional<std::chrono::steady_clock::time_point> end{};  // absent: later than the clock can say
    std::uint64_t steps = 0;
  };
  std::shared_ptr<State> state_;
};

}  // namespace compatcheck::ir
