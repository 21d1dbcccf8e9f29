// What a loaded model is behind compatcheck::Model.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "compatcheck/load.h"
#include "frontend/load.h"
#include "ir/graph.h"
#include "mapping/table.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck {

struct Model::State {
  std::string path;                   // as given
  frontend::Format format{};
  std::uint64_t bytes = 0;
  std::string identity;
  frontend::Parameters parameters;
  std::string producer;               // "torch 2.13"; empty if the file doesn't tell
  std::string libtorch_version;       // that read it; empty for text
  bool traced = false;
  bool training = false;              // saved in training mode

  ir::Graph graph;                    // normalised
  std::vector<std::string> steps;
  std::unordered_map<const ir::Node*, std::string> unresolved_writes;
  std::vector<ir::LoadNote> notes;

  schema::Registry schemas;           // shipped, users' and stubs
  mapping::Table table = mapping::Table::shipped();
  symbolic::Registry registry = symbolic::shipped_registry();
};

}  // namespace compatcheck
