// Which dtypes and ranks the readers of an input take.
#pragma once

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "conversion/fact_rules.h"
#include "conversion/facts.h"
#include "inference/infer.h"
#include "inference/leaves.h"

namespace compatcheck::inference {

// A reader that speaks for a rank. Places are in the order of the graph.
struct Hint {
  enum class Kind : std::uint8_t {
    operand,    // beside the input has the same rank
    constant,   // an operand whose dimensions in front may be missing
    rank_test,  // the model tests for this rank
    number,     // a number is made of its only element
  };
  std::size_t place = 0;
  const ir::Node* reader = nullptr;
  Kind kind = Kind::operand;
};

// One of several things that an input may be, and the first reader that refuses it.
struct Candidate {
  symbolic::TensorFact tensor;
  const ir::Node* refused_by = nullptr;
  bool for_sure = false;  // the reader runs whatever a branch decides
  std::vector<Hint> hints{};
};

// Which calls PyTorch refuses, as facts and the tables' `valid` say.
class Refusals {
 public:
  explicit Refusals(const Sources& sources) : sources_(sources), rules_(sources.table, sources.schemas, sources.registry) {}

  bool refuses(const ir::Node& node, const symbolic::FactTable& facts) const;
  // States facts and conditions once more, for who listens to their demands.
  void state(const ir::Node& node, const symbolic::FactTable& facts);

 private:
  const Sources& sources_;
  conversion::FactRules rules_;
};

constexpr std::size_t most_work = 150'000;  // facts stated; large models need a tenth of it

class Fitting {
 public:
  Fitting(const ir::Graph& graph, const Sources& sources, conversion::FactTrials& trials)
      : graph_(graph), sources_(sources), trials_(trials), refusals_(sources) {}

  // Fills in what the readers say. `enough`: if at most this many candidates remain, the nearest readers are sufficient.
  // `alike`: other inputs that are assumed to be the same. Returns false if that is too much work.
  bool try_out(const Leaf& leaf, std::vector<Candidate>& candidates, std::size_t enough, std::span<const Leaf> alike = {});

  // Whether the work is used up: the report then requests facts that are still open.
  bool exhausted() const { return trials_.work() > most_work; }

 private:
  struct Cone;
  void suppose(const Leaf& leaf, std::span<const Leaf> alike, const Cone& cone, Candidate& candidate);
  bool walk(const ir::Block& block, bool sure, const Cone& cone, Candidate& candidate);
  bool judge(const ir::Node& node, bool sure, const Cone& cone, Candidate& candidate);
  bool walk_loop(const ir::Node& loop, const Cone& cone, Candidate& candidate);
  void look_for_hints(const ir::Node& node, const Cone& cone, Candidate& candidate) const;

  const ir::Graph& graph_;
  const Sources& sources_;
  conversion::FactTrials& trials_;
  Refusals refusals_;
};

}  // namespace compatcheck::inference
