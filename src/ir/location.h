// Where in the user's own source a node comes from.
#pragma once

#include <memory>
#include <string>

namespace compatcheck::ir {

struct Location {
  std::string file;                        // as the Python that made the model recorded it; empty if unknown
  int line = 0;                            // counts from 1; 0: unknown
  int column = 0;                          // counts from 1; 0: unknown
  std::string function;                    // "forward", "warp"; empty if unknown
  std::string text;                        // the source line, trimmed; may be empty
  std::shared_ptr<const Location> caller;  // the call that was inlined to get here
};
using LocationRef = std::shared_ptr<const Location>;

}  // namespace compatcheck::ir
