// Every message about a model names it.
#pragma once

#include <string>

#include "compatcheck/error.h"

namespace compatcheck::files {

// The message, after the model's name if it doesn't begin with it.
inline std::string named(const std::string& model, const std::string& message) {
  return message.starts_with(model + ": ") ? message : model + ": " + message;
}

template <class Work>
auto naming(const std::string& model, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const ModelError& error) {
    throw ModelError(named(model, error.what()));
  } catch (const InternalError& error) {
    throw InternalError(named(model, error.what()));
  }
}

}  // namespace compatcheck::files
