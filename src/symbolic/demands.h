// Parts of conditions: sizes that must be known, and what PyTorch demands of arguments together, for the tables' `valid`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "symbolic/registry.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// Whether the sizes of a tensor are numbers, from dimension `first` up to `end` (perhaps beyond its rank): open while an input,
// or a node without facts, may decide; broken if they are named or computed.
Verdict sizes_known(const Fact& tensor, std::string_view name, std::size_t first, std::size_t end);

// The first broken demand is reported; a demand is broken only if that is proved.
class Demands {
 public:
  void at_least(const Dim& size, std::int64_t bound, std::string_view what);  // "WHAT must be at least 1, but is 0"
  void at_most(const Dim& size, const Dim& bound, std::string_view what);
  void equal(const Dim& size, const Dim& expected, std::string_view what);  // "WHAT must be 8, but is 4"
  void multiple(const Dim& size, const Dim& of, std::string_view what);     // "WHAT must be a multiple of 3, but is 4"
  void broken(std::string_view what);                                       // "WHAT"
  // Demands a rank of a tensor argument, if the rank is known.
  void rank(const Call& call, std::string_view argument, std::size_t least, std::size_t most);
  // A list of `count` members, or of one that stands for all.
  void length(const Call& call, std::string_view argument, std::size_t count);
  // Demands one dtype of tensor arguments and of tensors in lists, as far as they are given.
  void one_dtype(const Call& call, std::initializer_list<std::string_view> arguments);
  void one_dtype(const Fact& fact, std::string_view name);
  void broadcasts(const Shape& from, const Shape& to, std::string_view what);  // "WHAT doesn't broadcast to [2, 3]"

  Verdict verdict() const;  // yes or no
  void hold() const;        // throws Impossible if one is broken: for functions that state facts

 private:
  void state(bool holds, std::string_view what, std::string_view expected, const std::string& found);
  std::optional<std::string> broken_;
  std::optional<std::pair<ir::DType, std::string>> dtype_;  // dtype of the first tensor, and its name
};

// One of them, for functions that state facts: throw Impossible.
void demand_equal(const Dim& size, const Dim& expected, std::string_view what);
void demand_rank(const Call& call, std::string_view argument, std::size_t least, std::size_t most);
void demand_broadcast(const std::optional<Shape>& from, const Shape& to, std::string_view what);  // holds if `from` is unknown
void demand_no_bools(const Call& call, std::initializer_list<const char*> arguments);
void demand_floating(const Call& call, const char* argument);

}  // namespace compatcheck::symbolic
