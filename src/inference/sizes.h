// Sizes that nobody states: names at first, then what facts and conditions demand of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inference/fitting.h"
#include "symbolic/dim.h"
#include "symbolic/evaluate.h"
#include "symbolic/size_demands.h"

namespace compatcheck::inference {

// The size of a name, and the reader that demands it.
struct Settled {
  std::string name;
  symbolic::Dim size;
  const ir::Node* reader = nullptr;
};

struct Heard {
  symbolic::SizeDemand demand;
  const ir::Node* reader;
  bool for_sure;  // it runs whatever a branch decides
};

class SizeSolver {
 public:
  // In the order in which inputs have them.
  explicit SizeSolver(std::vector<FreeSize> free) : free_(std::move(free)) {}

  // Demands of one node.
  void hear(const symbolic::SizeDemand& demand, const ir::Node& reader, bool for_sure);
  // Solves the demands heard: those that certainly hold first, operands that may stretch last. Empty if nothing more follows.
  std::vector<Settled> solve() const;

  const std::vector<Heard>& heard() const { return heard_; }

 private:
  std::vector<Settled> settle(bool for_sure, bool may_stretch) const;
  std::vector<Settled> settle(const Heard& heard) const;
  std::vector<Settled> make_equal(const std::string& name, const symbolic::Dim& other, const ir::Node* reader) const;
  std::vector<Settled> find_square(const Heard& heard) const;
  std::optional<std::size_t> place_of(const std::string& name) const;  // among the free ones

  std::vector<FreeSize> free_;
  std::vector<Heard> heard_;
};

// The least sizes of names below which PyTorch refuses a call that always runs: a convolution of fewer pixels than its kernel
// has.
symbolic::NamedRanges least_sizes(const std::vector<Heard>& heard);

// Every demand of the graph.
std::vector<Heard> demands_of(const ir::Graph& graph, const Sources& sources, conversion::FactTrials& trials);

// Hears every demand of the graph, and of the first iteration of each loop: values that a loop carries may lose their sizes
// later.
void listen(SizeSolver& solver, const ir::Graph& graph, Refusals& refusals, conversion::FactTrials& trials,
            const ir::Watch& watch);

}  // namespace compatcheck::inference
