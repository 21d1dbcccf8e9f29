// Bounds of time in seconds.
#pragma once

namespace compatcheck::process {

inline constexpr double longest_seconds = 1e9;  // a longer bound is none: as a duration of a clock it could overflow

}  // namespace compatcheck::process
