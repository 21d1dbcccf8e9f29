// What a loaded model is behind compatcheck::Model.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/load.h"
#include "convert/context.h"
#include "frontend/input_file.h"
#include "frontend/load.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "mapping/table.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck {

struct Model::State {
  std::string path;  // as given
  frontend::Format format{};
  std::uint64_t bytes = 0;
  std::string identity;
  frontend::Parameters parameters;
  std::optional<ir::Program> program;                          // what the graph was made from; none for text
  ir::Graph graph;                                             // normalised
  std::vector<std::pair<std::size_t, ir::Constant>> defaults;  // of the graph's inputs, where a call may leave them out
  std::vector<std::string> steps;
  bool dropped_assertions = false;     // of branches that only raise, whether facts settle them or not
  std::optional<ir::Graph> asserting;  // of text with such branches: as it was read

  schema::Registry schemas;  // shipped, users' and stubs
  mapping::Table table = mapping::Table::shipped();
  symbolic::Registry registry;
  handlers::Registry handlers;
  onnx::MovedAttributes moved;                      // of the table
  std::shared_ptr<const frontend::InputFile> file;  // what the weights lie in
  std::string method;                               // that `graph` is of
  std::optional<frontend::pt2::ExportedInterface> exported;  // what an exported program states of its inputs
  std::optional<ir::Graph> reference;                        // and its graph as the file has it, to be run
  frontend::LoadOptions load;                       // for whoever runs the file
};

}  // namespace compatcheck
