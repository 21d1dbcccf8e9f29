// The verdict on every node at one opset. Until handlers exist a verdict is the row and its conditions applied to
// the call; the dry conversion takes over behind this same interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "mapping/table.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

namespace compatcheck::convert {

enum class Status : std::uint8_t { ok, missing, refused, needs_input, unassessed };

struct Outcome {
  const ir::Node* node = nullptr;
  Status status = Status::ok;
  bool structural = false;
  bool unresolved_write = false;        // refused: an in-place write that normalising could not turn into a value
  bool unknown_operator = false;        // missing: no row at all and not an operator that libtorch or a known library ships
  std::string reason, hint;             // of missing, refused, needs_input
  const mapping::OperatorRows* rows = nullptr;
  const mapping::Row* row = nullptr;    // the row that applied or refused; null if none
  int since = 0;                        // the opset of the entry that held
  std::optional<int> available_from;    // lowest opset above at which this call is ok
  std::vector<std::uint32_t> wants;     // needs_input: the model inputs that would settle it
};

struct Assessment {
  std::vector<Outcome> outcomes;        // of every node, blocks included, in order
  bool convertible() const;             // every outcome ok
};

struct Context {
  const mapping::Table& table;
  const schema::Registry& schemas;
  const symbolic::Registry& registry;
  const symbolic::FactTable& facts;
  // Writes that normalising left in place, and why each can't be expressed.
  const std::unordered_map<const ir::Node*, std::string>& unresolved_writes;
};

Assessment assess(const ir::Graph& graph, const Context& context, int opset);

// The lowest opset at which every node is ok, going up from the lowest; nullopt if there is none.
std::optional<int> lowest_opset(const ir::Graph& graph, const Context& context);

}  // namespace compatcheck::convert
