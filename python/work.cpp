#include "work.h"

#include <nanobind/stl/string.h>

#include <utility>

namespace compatcheck::python {

RunOptions Work::run_options() {
  RunOptions options{.cancel = cancel_};
  if (!progress_.is_none())
    options.progress = [this](const Progress& at) {
      const std::lock_guard lock(mutex_);
      latest_ = State{std::string(at.stage), at.done, at.total};
    };
  return options;
}

void Work::look() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  std::optional<State> latest;
  {
    const std::lock_guard lock(mutex_);
    latest = std::exchange(latest_, std::nullopt);
  }
  if (latest) progress_(latest->stage, latest->done, latest->total);
}

}  // namespace compatcheck::python
