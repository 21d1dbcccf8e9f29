// The tables and opsets that everything reads which writes a node.
#pragma once

#include <optional>

#include "conversion/context.h"
#include "handlers/registry.h"
#include "ir/watch.h"
#include "mapping/table.h"
#include "onnx/builder.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::retarget {

struct Tables {
  const mapping::Table& table;
  const schema::Registry& schemas;
  const symbolic::Registry& registry;
  const handlers::Registry& handlers;
};

struct Setting {
  int from = 0, to = 0;  // opsets: that of the nodes, and that at which they are written
  const Tables& tables;
  const onnx::MovedAttributes& moved;
  const ir::Watch& watch;
  std::optional<int> form{};  // the opset in whose form PyTorch's calls are written; absent: `to`
};

}  // namespace compatcheck::retarget
