// Sizes of named dimensions at which all holds that facts and conditions demand of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inference/sizes.h"
#include "ir/watch.h"
#include "verification/sizes.h"

namespace compatcheck::verification {

class SizeSearch {
 public:
  // `numbers`: that a size may have to be, as the model holds them.
  SizeSearch(const std::vector<inference::Heard>& heard, std::vector<std::int64_t> numbers, const ir::Watch& watch = {});

  const std::vector<std::int64_t>& numbers() const { return numbers_; }

  // `likely` where all holds, else the nearest that was found; only sizes of `names` are changed. Each of `avoided` has another
  // size than there. nullopt: none was found. The work of all calls together is bounded.
  std::optional<Sizes> fit(const Sizes& likely, const std::vector<std::string>& names, const Sizes& avoided = {});

  // "x0*x1 must be 48": what ties the name to others; empty: nothing that is known.
  std::string tie_of(const std::string& name) const;

 private:
  struct Demand {
    symbolic::SizeDemand size;
    std::vector<std::string> names;
    bool for_sure;
  };
  class Search;
  static bool holds(const Demand& demand, const Sizes& sizes);

  std::vector<Demand> demands_;
  std::vector<std::int64_t> numbers_;
  ir::Watch watch_;
  int looks_left_;
};

// A few that nodes of the graph are given, in its order.
void add_numbers(const ir::Graph& graph, std::vector<std::int64_t>& numbers);

}  // namespace compatcheck::verification
