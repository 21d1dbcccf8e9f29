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

// An output of the ONNX model without a shape: only the running model knows how many dimensions this value has.
struct OpenOutput {
  std::string name;
  const ir::Value* value = nullptr;
};

// An input or output of the ONNX model; its type as reports spell it.
struct OnnxValue {
  std::string name, type;
};
struct Interface {
  std::vector<OnnxValue> inputs, outputs;
};

struct Outcome {
  const ir::Node* node = nullptr;
  Status status = Status::ok;
  bool structural = false;
  bool unresolved_write = false;  // refused: an in-place write that normalization could not turn into a value
  bool unknown_operator =
      false;  // missing: no row at all and not an operator that libtorch, a known library or one of the user's ships
  std::string reason, hint;  // for missing, refused, needs_input
  std::string option{};      // the --input that settles `wants`, or constants with which the call converts, as trials showed
  const mapping::OperatorRows* rows = nullptr;
  const mapping::Row* row = nullptr;        // the row that applied or refused; null if none
  int since = 0;                            // opset of the entry in force
  std::optional<int> available_from;        // lowest higher opset at which this call is ok, or only needs inputs
  const mapping::Row* row_there = nullptr;  // row that applies at available_from; null if none
  bool wants_there = false;                 // needs inputs at available_from
  std::vector<std::uint32_t> wants;         // needs_input, missing: the model inputs that would settle it, or whether it runs
  // ok: written as PyTorch's operator because of the export type; this is the status without that, and `reason` and the rest
  // explain it.
  std::optional<Status> kept{};
  bool impossible = false;               // refused: PyTorch refuses the call, too
  bool of_unknown = false;               // refused, unassessed: facts are missing that no input settles
  const ir::Node* blamed = nullptr;      // with `of_unknown`: the node whose results have no known facts; may be null
  bool handled = false;                  // the nodes were emitted in a trial
  std::vector<onnx::Emitted> emitted;    // ok: those nodes, including those in bodies of If, Loop and Scan
  std::vector<std::string> differences;  // ok: differences of these nodes from PyTorch, with --prefer compact
  std::vector<OpenOutput> open_outputs;  // ok, of prim::Return
  Interface interface {};                // the same
  std::string doubt{};                   // ok: what a user's row states that may not be true
};

// The outcome of an attempt, and the opsets for which it holds.
struct Attempt {
  Outcome outcome;
  std::optional<symbolic::Verdict>
      open;  // open question while facts are unknown; the node to blame may have failed at one opset only
  onnx::OpsetRange range;
  onnx::OpsetRange forms{};  // of attempt_form: the forms that are the same
};

// The graph and the context must outlive it.
class Attempter {
 public:
  Attempter(const ir::Graph& graph, const Context& context) : graph_(graph), context_(context), lookups_(context) {}

  // Throws InternalError, with the call's operator and place, for a defect of ours: a handler that fails by anything but Refusal,
  // Wanting or Impossible.
  // As ONNX alone, whatever the export type; of the graph's prim::Return, the model's inputs and outputs.
  Attempt attempt(const ir::Node& node, int opset);
  // The same in the form of an opset up to `opset`; the outcome holds at `opset` alone. Refused if a node of the form means
  // something else there.
  Attempt attempt_form(const ir::Node& node, int opset, int form);
  // As PyTorch's operator, in the way of the export type.
  Attempt attempt_foreign(const ir::Node& node, int opset);

 private:
  Attempt attempt_call(const ir::Node& node, int opset, std::optional<int> form);
  Attempt attempt_foreign_call(const ir::Node& node, int opset);
  // The opset of the model, and that of the form.
  struct At {
    int opset = 0;
    std::optional<int> form{};
    int rows() const { return form.value_or(opset); }
  };
  template <class Work>
  void on_trial(Attempt& attempt, int opset, Work&& work);
  void try_control(Attempt& attempt, int opset);
  void try_unpack(Attempt& attempt, int opset);
  void try_interface(Attempt& attempt, int opset);
  void try_structural(Attempt& attempt, const mapping::Listed& listed, int opset);
  std::string impossibility(const mapping::Lookup& found, const symbolic::Call& call) const;
  void try_fitting(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, At at);
  void try_rows(Attempt& attempt, const mapping::Lookup& found, const symbolic::Call& call, At at);
  void take(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, At at);
  void try_nodes(Attempt& attempt, const mapping::Row& row, const symbolic::Call& call, At at);

  const ir::Graph& graph_;
  const Context& context_;
  Lookups lookups_;
};

}  // namespace compatcheck::conversion
