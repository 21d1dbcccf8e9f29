// The verdict on every node of a graph at one opset, or the lowest at which all are ok.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "conversion/attempt.h"
#include "conversion/context.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

struct Assessment {
  // The outcomes of all nodes, in blocks too, in order; where all are ok, and the model's inputs and outputs aren't, also that of
  // prim::Return.
  std::vector<Outcome> outcomes;
  std::vector<OpenOutput> open_outputs{};  // where all are ok
  Interface interface {};                  // the same
  bool convertible() const;                // every outcome ok
};

// Outcomes are remembered for the opsets at which they hold. The graph and the context must outlive it.
class Assessor {
 public:
  Assessor(const ir::Graph& graph, const Context& context) : graph_(graph), context_(context), attempter_(graph, context) {}

  Assessment assess(int opset);
  // The lowest opset at which every node is ok, going up from the lowest; nullopt if there is none.
  std::optional<int> lowest_opset();
  // The opsets below `opset` in whose form the call can be written there, each standing for those with the same form; the newest
  // first.
  std::vector<int> older_forms(const ir::Node& node, int opset);
  // The nodes that the export type keeps as PyTorch's operators.
  std::unordered_set<const ir::Node*> kept(int opset);

 private:
  using Earlier = std::unordered_map<const ir::Node*, Status>;  // at the same opset, for nodes that depend on a failed one

  using Attempts = std::unordered_map<const ir::Node*, std::vector<Attempt>>;

  Outcome outcome_at(const ir::Node& node, int opset, const Earlier& earlier);
  // As ONNX alone, whatever the export type.
  Outcome onnx_outcome_at(const ir::Node& node, int opset, const Earlier& earlier);
  bool is_kept(const Outcome& outcome) const;
  void keep(Outcome& outcome, int opset);
  template <class Make>
  const Attempt& remembered(Attempts& attempts, const ir::Node& node, int opset, Make&& make);
  const Attempt& attempt_at(const ir::Node& node, int opset);
  const Attempt& form_at(const ir::Node& node, int opset, int form);
  void find_available(Outcome& outcome, int opset);

  const ir::Graph& graph_;
  const Context& context_;
  Attempter attempter_;
  Attempts attempts_, foreign_attempts_;
  std::map<std::tuple<const ir::Node*, int, int>, Attempt> form_attempts_;  // by opset and form
};

}  // namespace compatcheck::conversion
