// One call at one opset: the row that applies and its conditions, then its nodes emitted on trial. A row for which no handler is
// written is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conversion/calls.h"
#include "conversion/context.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

enum class Status : std::uint8_t { ok, missing, refused, needs_input, unassessed };

inline bool is_failure(Status status) { return status == Status::missing || status == Status::refused; }

struct Outcome {
  const ir::Node* node = nullptr;
  Status status = Status::ok;
  bool structural = false;
  bool unresolved_write = false;  // refused: an in-place write that normalizing could not turn into a value
  bool unknown_operator =
      false;  // missing: no row at all and not an operator that libtorch, a known library or one of the user's ships
  std::string reason, hint;  // of missing, refused, needs_input
  std::string option{};      // the --input that settles `wants`, as a trial showed; empty if none was found
  const mapping::OperatorRows* rows = nullptr;
  const mapping::Row* row = nullptr;        // the row that applied or refused; null if none
  int since = 0;                            // the opset of the entry that held
  std::optional<int> available_from;        // lowest opset above at which this call is ok, or only wants inputs
  const mapping::Row* row_there = nullptr;  // what applies at available_from; null if none
  bool wants_there = false;                 // at available_from it wants inputs
  std::vector<std::uint32_t> wants;         // needs_input, missing: the model inputs that would settle it, or whether it runs
  // ok: written as PyTorch's operator, as the export type has it; and what the call is without that. `reason` and the rest tell
  // why.
  std::optional<Status> kept{};
  bool impossible = false;               // refused: PyTorch refuses the call, too
  bool of_unknown = false;               // refused, unassessed: for want of facts, which no input settles
  const ir::Node* blamed = nullptr;      // with `of_unknown`: the node whose results nobody states; may be null
  bool handled = false;                  // its nodes were emitted, on trial
  std::vector<onnx::Emitted> emitted;    // ok: those nodes, those in bodies of If, Loop and Scan included
  std::vector<std::string> differences;  // ok: of these nodes from PyTorch, with --prefer compact
};

// The outcome of an attempt, and the opsets for which it holds.
struct Attempt {
  Outcome outcome;
  std::optional<symbolic::Verdict>
      open;  // what stands in the way while something isn't known; the node to blame may have failed at one opset only
  onnx::OpsetRange range;
};

// The graph and the context must outlive it.
class Attempter {
 public:
  Attempter(const ir::Graph& graph, const Context& context) : graph_(graph), context_(context), lookups_(context) {}

  // Throws InternalError, with the call's operator and place, for a defect of ours: a handler that fails by anything but Refusal,
  // Wanting or Impossible.
  // As ONNX alone, whatever the export type; of the graph's prim::Return, the model's inputs and outputs.
  Attempt attempt(const ir::Node& node, int opset);
  // As PyTorch's operator, in the way of the export type.
  Attempt attempt_foreign(const ir::Node& node, int opset);

 private:
  Attempt attempt_call(const ir::Node& node, int opset);
  Attempt attempt_foreign_call(const ir::Node& node, int opset);
  template <class Work>
  void on_trial(Attempt& attempt, int opset, Work&& work);
  void try_control(Attempt& attempt, int opset);
  void try_unpack(Attempt& attempt, int opset);
  void try_interface(Attempt& attempt, int opset);
  void try_structural(Attempt& attempt, const mapping::Listed& listed, int opset);
  std::string impossibility(const mapping::Lookup& found, const symbolic::Call& call) const;
  void try_fitting(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, int opset);
  void try_rows(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, int opset);
  void take(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, int opset);
  void try_nodes(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, int opset);

  const ir::Graph& graph_;
  const Context& context_;
  Lookups lookups_;
};

}  // namespace compatcheck::conversion
