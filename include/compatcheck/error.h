// The library's exceptions: one type per cause, each with a message that a user can act on.
#pragma once

#include <stdexcept>
#include <string>

namespace compatcheck {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A wrong option, argument or configuration: exit code 2.
struct UsageError : Error {
  using Error::Error;
};

// A mapping table or plugin that can't be used, with file, line and column: exit code 2.
struct TableError : Error {
  using Error::Error;
};

// A model that can't be read: absent, junk, truncated, unsupported, or its loader ran out of bounds: exit code 3.
struct ModelError : Error {
  using Error::Error;
};

// A defect of compatcheck: exit code 3.
struct InternalError : Error {
  using Error::Error;
};

// The caller's cancel token was set.
struct Cancelled : Error {
  using Error::Error;
};

}  // namespace compatcheck
