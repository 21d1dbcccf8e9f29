// Calls of operators that PyTorch doesn't ship. The schema of such an operator is a user's, whose names and order of arguments
// need not be the file's, or it is assumed from the calls.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pt2/json.h"
#include "ir/graph.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

// For each argument of a schema, the call's input that it gets.
struct Placement {
  std::vector<std::optional<std::size_t>> inputs;  // nullopt: the default, or None for an argument that is always None
  bool by_position = false;                        // of at least one
};

// By name if the schema has all names of the call, else by position: names that both have must then stand in one order, and the
// call must give as many arguments between them as the schema has. nullopt: the schema isn't one of this call.
std::optional<Placement> place(const schema::Schema& schema, std::span<const Json> inputs);

// "acme::pool(x, rois, size)": the call by the names in the file.
std::string spell_names(const std::string& op, std::span<const Json> inputs);

// The calls of operators for which no schema is stated.
class AssumedCalls {
 public:
  void add(ir::Node* call, std::span<const Json> inputs);
  // One schema for each operator and overload, after all its calls. Arguments that some calls leave out are optional; these calls
  // get `none`, which must be a value at the top of the graph.
  std::vector<std::string> settle(ir::Value* none);

 private:
  struct Call {
    ir::Node* node;
    std::vector<std::string> names;
  };
  std::map<std::pair<std::string, std::string>, std::vector<Call>> calls_;  // by operator and overload
};

}  // namespace compatcheck::frontend::pt2
