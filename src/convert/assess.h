// The verdict on every node at one opset: the row and its conditions applied to the call, then its nodes emitted on trial. A row
// for which no handler is written is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "convert/calls.h"
#include "convert/context.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

enum class Status : std::uint8_t { ok, missing, refused, needs_input, unassessed };

struct Outcome {
  const ir::Node* node = nullptr;
  Status status = Status::ok;
  bool structural = false;
  bool unresolved_write = false;        // refused: an in-place write that normalising could not turn into a value
  bool unknown_operator = false;        // missing: no row at all and not an operator that libtorch, a known library or one of the user's ships
  std::string reason, hint;             // of missing, refused, needs_input
  const mapping::OperatorRows* rows = nullptr;
  const mapping::Row* row = nullptr;    // the row that applied or refused; null if none
  int since = 0;                        // the opset of the entry that held
  std::optional<int> available_from;    // lowest opset above at which this call is ok
  std::vector<std::uint32_t> wants;     // needs_input, missing: the model inputs that would settle it, or whether it runs
  // ok: written as PyTorch's operator, as the export type has it; and what the call is without that. `reason` and the rest tell why.
  std::optional<Status> kept{};
  bool impossible = false;              // refused: PyTorch refuses the call, too
  bool handled = false;                 // its nodes were emitted, on trial
  std::vector<std::string> emitted;     // ok: the ONNX operators of those nodes, plumbing included
};

struct Assessment {
  // Of every node, blocks included, in order; where all are ok, and the model's inputs and outputs aren't, of its prim::Return too.
  std::vector<Outcome> outcomes;
  bool convertible() const;             // every outcome ok
};

// Outcomes are remembered for the opsets at which they hold. The graph and the context must outlive it.
class Assessor {
 public:
  Assessor(const ir::Graph& graph, const Context& context) : graph_(graph), context_(context), lookups_(context) {}

  Assessment assess(int opset);
  // The lowest opset at which every node is ok, going up from the lowest; nullopt if there is none.
  std::optional<int> lowest_opset();
  // The nodes that the export type keeps as PyTorch's operators.
  std::unordered_set<const ir::Node*> kept(int opset);

 private:
  // What stands in the way of a row while something isn't known; the node to blame may have failed at one opset only.
  struct Attempt {
    Outcome outcome;
    std::optional<symbolic::Verdict> open;
    onnx::OpsetRange range;
  };
  using Earlier = std::unordered_map<const ir::Node*, Status>;  // of the same opset, for what hangs on a node that failed

  using Attempts = std::unordered_map<const ir::Node*, std::vector<Attempt>>;

  Outcome outcome_at(const ir::Node& node, int opset, const Earlier& earlier);
  // As ONNX alone, whatever the export type.
  Outcome onnx_outcome_at(const ir::Node& node, int opset, const Earlier& earlier);
  bool is_kept(const Outcome& outcome) const;
  void keep(Outcome& outcome, int opset);
  Attempt attempt_foreign(const ir::Node& node, int opset);
  template <class Make> const Attempt& remembered(Attempts& attempts, const ir::Node& node, int opset, Make&& make);
  const Attempt& attempt_at(const ir::Node& node, int opset);
  Attempt attempt(const ir::Node& node, int opset);
  template <class Work> void on_trial(Attempt& attempt, int opset, Work&& work);
  void try_control(Attempt& attempt, int opset);
  void try_interface(Attempt& attempt, int opset);
  void try_structural(Attempt& attempt, const mapping::Listed& listed, int opset);
  void try_fitting(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, int opset);
  void try_rows(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, int opset);
  void take(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, int opset);
  void try_nodes(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, int opset);
  std::optional<int> available_from(const Outcome& outcome, int opset);

  const ir::Graph& graph_;
  const Context& context_;
  Lookups lookups_;
  Attempts attempts_, foreign_attempts_;
};

}  // namespace compatcheck::conversion
