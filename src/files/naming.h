// Every message about a model names it.
#pragma once

#include <string>

#include "compatcheck/error.h"

namespace compatcheck::files {

template <class Work>
auto naming(const std::string& model, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const ModelError& error) {
    throw ModelError(model + ": " + error.what());
  } catch (const InternalError& error) {
    throw InternalError(model + ": " + error.what());
  }
}

}  // namespace compatcheck::files
