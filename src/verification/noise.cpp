#include "verification/noise.h"

#include <algorithm>

#include "verification/match.h"

namespace compatcheck::verification {
namespace {

constexpr int draws = 4;
// Last bits of inputs or weights are one rounding; each operator rounds once more.
constexpr double factor = 4;

}  // namespace

std::vector<Noise> measure_noise(Reference& reference, const Expected& expected, Reference::Nudged what) {
  std::vector<Noise> noise;
  const auto right = leaves_of(expected.result);
  for (int draw = 0; draw < draws; ++draw) {
    const auto other = reference.nudged_result(expected, what, static_cast<std::uint64_t>(draw));
    if (!other) continue;
    const auto moved = leaves_of(*other);
    if (moved.size() != right.size()) continue;  // another output is None
    noise.resize(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!ir::is_floating(right[i].dtype)) continue;
      const Comparison comparison = compare(right[i], moved[i], {});
      noise[i].largest = std::max(noise[i].largest, comparison.max_abs);
      noise[i].rms = std::max(noise[i].rms, comparison.rms);
    }
  }
  return noise;
}

bool is_within(const Noise& noise, const Comparison& comparison, const Tolerance& tolerance) {
  return comparison.same_form() && comparison.nonfinite_differ == 0 && noise.largest > 0 &&
         comparison.max_abs <= factor * noise.largest && comparison.rms <= factor * noise.rms &&
         factor * noise.largest <= tolerance.relative * comparison.largest;
}

}  // namespace compatcheck::verification
