// The loaded model behind compatcheck::Model.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compatcheck/load.h"
#include "compatcheck/state_mode.h"
#include "conversion/context.h"
#include "files/input_file.h"
#include "frontend/load.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "mapping/table.h"
#include "passes/state.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::analysis {

// A file and what it was loaded with. Normalization doesn't change it, so a model is the same here in every StateMode.
struct LoadedFile {
  std::string path;  // as given
  frontend::Format format{};
  std::uint64_t bytes = 0;
  std::string identity;
  frontend::Parameters parameters;
  std::shared_ptr<const ir::Program> program;  // what the graph is made from; null for text
  mapping::Table table = mapping::Table::shipped();
  symbolic::Registry registry;
  handlers::Registry handlers;
  onnx::MovedAttributes moved;                               // of the table
  std::shared_ptr<const files::InputFile> file;              // what the weights lie in
  std::string method;                                        // that the graph is of
  std::optional<frontend::pt2::ExportedInterface> exported;  // what an exported program states of its inputs
  frontend::LoadOptions load;                                // for whoever runs the file
};

}  // namespace compatcheck::analysis

namespace compatcheck {

struct Model::State : analysis::LoadedFile {
  explicit State(analysis::LoadedFile loaded) : LoadedFile(std::move(loaded)) {}

  schema::Registry schemas;                                    // shipped, users' and stubs
  ir::Graph graph;                                             // normalized
  std::vector<std::pair<std::size_t, ir::Constant>> defaults;  // of the graph's inputs, where a call may leave them out
  std::vector<std::string> steps;
  std::vector<passes::StateAttribute> state;  // attributes that are inputs and outputs of `graph`: its last ones
  std::vector<ir::LostWrite> lost_writes;     // to inputs, state included
  std::optional<ir::Graph> with_assertions;   // the graph with branches that only raise: passes::Normalized

  // The same model whose state is inputs and outputs, made when it is first asked for.
  mutable std::once_flag stateful_made;
  mutable std::shared_ptr<const State> stateful;
  // asserting_graph(), once it has been asked for: the graph, or the bound that it exceeds.
  mutable std::mutex asserting_guard;
  mutable std::unique_ptr<const ir::Graph> asserting;
  mutable std::string asserting_failure;
};

}  // namespace compatcheck

namespace compatcheck::analysis {

// Throws UsageError for a model that was read by ranges: `call` ("convert") needs the file.
void refuse_ranges(const Model::State& model, const std::string& call);

// As StateMode has it: the model as it was loaded, or with its state as inputs and outputs. Lives as long as the model.
const Model::State& state_of(const Model::State& model, StateMode mode, const ir::Watch& watch);

}  // namespace compatcheck::analysis
