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

// A file and its load options. Normalization doesn't change it, so a model is the same here in every StateMode.
struct LoadedFile {
  std::string path;  // as passed to load()
  frontend::Format format{};
  std::uint64_t bytes = 0;
  std::string identity;
  frontend::Parameters parameters;
  std::shared_ptr<const ir::Program> program;  // program that the graph is made from; null for graph text
  mapping::Table table = mapping::Table::shipped();
  symbolic::Registry registry;
  handlers::Registry handlers;
  onnx::MovedAttributes moved;                               // from the table
  std::shared_ptr<const files::InputFile> file;              // file that contains the weights
  std::string method;                                        // method that became the graph
  std::optional<frontend::pt2::ExportedInterface> exported;  // description of the inputs in an exported program
  frontend::LoadOptions load;                                // options to run the file with
};

}  // namespace compatcheck::analysis

namespace compatcheck {

struct Model::State : analysis::LoadedFile {
  explicit State(analysis::LoadedFile loaded) : LoadedFile(std::move(loaded)) {}

  schema::Registry schemas;                                    // shipped, users' and stubs
  ir::Graph graph;                                             // normalized
  std::vector<std::pair<std::size_t, ir::Constant>> defaults;  // defaults of the graph's optional inputs, keyed by index
  std::vector<std::string> steps;
  std::vector<passes::StateAttribute> state;  // attributes that are inputs and outputs of `graph`: its last ones
  std::vector<ir::LostWrite> lost_writes;     // writes to inputs, state included
  std::optional<ir::Graph> with_assertions;   // the graph with branches that only raise: passes::Normalized

  // The same model with state as inputs and outputs, made on first use.
  mutable std::once_flag stateful_made;
  mutable std::shared_ptr<const State> stateful;
  // Result of asserting_graph(), set on first use: the graph, or the limit that it exceeds.
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
