// A model ready for verdicts and conversion: its inputs are stated, facts are stated and folded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/given_inputs.h"
#include "analysis/model_state.h"
#include "compatcheck/check.h"
#include "conversion/context.h"
#include "conversion/facts.h"
#include "ir/graph.h"
#include "passes/state.h"
#include "symbolic/call.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {

struct Prepared {
  ir::Graph graph;
  symbolic::FactTable facts;
  std::vector<std::string> steps, warnings;
  std::vector<AssumedInput> assumed{};
  std::vector<std::string> open_ranks{};  // inputs with readers that also accept ranks other than the assumed one
  std::unordered_map<const ir::Node*, std::string> unresolved_writes;
  std::unordered_map<const ir::Node*, const ir::Node*> write_causes{};  // the other write that a write stays for
  std::vector<passes::StateAttribute> state{};                          // the last inputs and outputs of the graph
  std::map<std::string, int, std::less<>> domain_versions{};
  bool inline_functions = false;
  ComplexIo complex_io = ComplexIo::refuse;
  QuantizedIo quantized_io = QuantizedIo::floats;
  Preference prefer = Preference::exact;
  std::vector<ir::LostWrite> lost_writes{};
  Defaults constants{};               // inputs that are these constants
  std::vector<std::string> values{};  // GivenInputs::values
  conversion::FormTable forms{};      // that the engines of --target take
};

// Uses the options' inputs, and infers the others. `members`: members of lists and dictionaries, "xs.0", that become inputs of
// their own although nothing is stated about them. Throws UsageError for one that doesn't fit the model.
Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch,
                 const std::vector<std::string>& members = {});
struct PrepareOptions {
  bool keep_assertions = false;    // branches that only raise stay, except those that facts settle
  symbolic::NamedRanges ranges{};  // of named sizes
};
// Another graph of the model's values: a part of it.
Prepared prepare(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& inputs,
                 const ir::Watch& watch, const PrepareOptions& how = {});
// The model and the prepared graph must outlive it.
conversion::Context context_of(const Model::State& model, const Prepared& prepared, const ir::Watch& watch,
                               ExportType type = ExportType::onnx);

}  // namespace compatcheck::analysis
