// Runs an exported program operator by operator, by the graph that its file holds, before any pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/example_inputs.h"
#include "analysis/model_state.h"
#include "frontend/load.h"
#include "ir/graph.h"
#include "verification/inputs.h"

namespace compatcheck::verification {

// The model must outlive it.
class ExportedRun {
 public:
  // `state`: attributes whose values the runs state.
  ExportedRun(const Model::State& model, const std::vector<std::string>& state);

  // The inputs that the program was exported with, their elements read; empty if the file doesn't hold them.
  std::vector<analysis::ExampleLeaf> samples() const;
  // Why the program's guards refuse these sizes; empty if they don't.
  std::string refusal(const MadeCall& call) const;
  // Each call finds the state that the call before left.
  std::vector<frontend::Frontend::Run> run(frontend::Frontend& frontend, const std::vector<ir::Constants>& calls,
                                           std::uint64_t seed) const;

 private:
  const Model::State& model_;
  std::vector<std::string> state_;
  ir::Graph graph_;  // its last inputs are the state, its last outputs the state after the call
};

}  // namespace compatcheck::verification
