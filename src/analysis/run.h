// How a caller ends a call, as the rooms below ask it.
#pragma once

#include <functional>

#include "compatcheck/run.h"
#include "ir/watch.h"

namespace compatcheck::analysis {

inline std::function<bool()> cancelled_of(const RunOptions& run) {
  return [cancel = run.cancel] { return cancel && *cancel; };
}

inline ir::Watch watch_of(const RunOptions& run, double timeout_seconds) { return {cancelled_of(run), timeout_seconds}; }

}  // namespace compatcheck::analysis
