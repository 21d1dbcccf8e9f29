// The data that all graphs of one exported program share while they are read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/pt2/batches.h"
#include "frontend/pt2/custom_calls.h"
#include "frontend/pt2/interface.h"
#include "frontend/pt2/origins.h"
#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

struct Autocast {
  ir::DType lower;
  bool is_strict = false;  // exported with strict=True: the dtypes in the file are those without autocast
};

struct Reading {
  ir::Graph& graph;
  const schema::Registry& schemas;
  const ir::Watch& watch;
  Origins origins{};
  std::vector<LeftOutAssertion> assertions{};
  std::set<std::pair<std::string, const ir::Location*>> left_out{};  // texts and places of `assertions`
  std::map<std::string, std::string> notes{};                        // keyed by subject, so that each is noted once
  AssumedCalls assumed{};
  std::set<std::string> stated{};                            // the operators that PyTorch doesn't ship and whose schema is known
  std::map<std::string, std::string> matched_by_position{};  // keyed by operator: what was matched
  std::unordered_map<std::string, ir::Value*> constants{};
  std::size_t nodes = 0;
  std::optional<Autocast> autocast{};  // set within a region of torch.autocast
  Batches batches{};
  bool contiguous_inputs = true;  // of the example that the program was exported with

  void leave_out(const Json& node, std::string message) {
    const Origin origin = origins.of(node);
    if (!left_out.emplace(message, origin.location.get()).second) return;
    assertions.push_back({std::move(message), origin.location, std::string(origin.module)});
  }
};

}  // namespace compatcheck::frontend::pt2
