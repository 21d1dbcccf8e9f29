// The edge of the library: what leaves it is an Error, whatever was thrown inside.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "compatcheck/error.h"

namespace compatcheck::analysis {

// `doing` opens the message: "net.pt", "the report".
template <class Work>
auto guarded(const std::string& doing, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw InternalError(doing + ": out of memory");
  } catch (const std::exception& error) {
    throw InternalError(doing + ": " + error.what() + " (this is a defect of compatcheck; please report it)");
  }
}

}  // namespace compatcheck::analysis
