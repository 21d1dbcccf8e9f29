// Calling the functions that a caller gave: progress, accept, the log's sink.
#pragma once

#include <exception>
#include <utility>

#include "compatcheck/run.h"

namespace compatcheck::process {

// An exception of a caller's function on its way to the caller. It is no std::exception, so that no code between treats it as an
// error of the library and rewords it. The edge of the library (analysis/boundary.h) throws again what is in it.
struct CallbackFailed {
  std::exception_ptr thrown;
};

template <class Function, class... Arguments>
decltype(auto) call(const Function& function, Arguments&&... arguments) {
  try {
    return function(std::forward<Arguments>(arguments)...);
  } catch (...) {
    throw CallbackFailed{std::current_exception()};
  }
}

inline void report_progress(const RunOptions& run, const Progress& progress) {
  if (run.progress) call(run.progress, progress);
}

}  // namespace compatcheck::process
