// What PyTorch demands of arguments together: conditions for the tables' `valid`. Only what is proved to be wrong counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "symbolic/registry.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// The first demand that is broken tells.
class Demands {
 public:
  void at_least(const Dim& size, std::int64_t bound, std::string_view what);     // "WHAT must be at least 1, and is 0"
  void at_most(const Dim& size, const Dim& bound, std::string_view what);
  void equal(const Dim& size, const Dim& wanted, std::string_view what);         // "WHAT must be 8, and is 4"
  void multiple(const Dim& size, const Dim& of, std::string_view what);          // "WHAT must be a multiple of 3, and is 4"
  void broken(std::string_view what);                                            // "WHAT"
  // Of a tensor argument, if its rank is known.
  void rank(const Call& call, std::string_view argument, std::size_t least, std::size_t most);
  // A list of `count` members, or of one that stands for all.
  void length(const Call& call, std::string_view argument, std::size_t count);

  Verdict verdict() const;   // yes or no

 private:
  void state(bool holds, std::string_view what, std::string_view wanted, const std::string& found);
  std::optional<std::string> broken_;
};

}  // namespace compatcheck::symbolic
