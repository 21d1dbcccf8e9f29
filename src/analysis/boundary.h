// The edge of the library: every exception that leaves it is an Error, except those that a caller's function threw.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "compatcheck/error.h"
#include "process/callback.h"

namespace compatcheck::analysis {

// A function of the library may call another: the outermost is the edge.
class Inside {
 public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool outermost() { return depth_ == 1; }

 private:
  inline static thread_local int depth_ = 0;
};

// `doing` opens the message: "net.pt", "the report".
template <class Work>
auto guarded(const std::string& doing, Work&& work) -> decltype(work()) {
  const Inside inside;
  try {
    return work();
  } catch (const process::CallbackFailed& callback) {
    if (!Inside::outermost()) throw;
    std::rethrow_exception(callback.thrown);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw InternalError(doing + ": out of memory");
  } catch (const std::exception& error) {
    throw InternalError(doing + ": " + error.what() + " (this is a defect of compatcheck; please report it)");
  }
}

}  // namespace compatcheck::analysis
