// Calls of operators on values with explicit batch dimensions.
#pragma once

#include <span>
#include <string>

#include "frontend/pt2/batches.h"
#include "frontend/pt2/node_writer.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

// A call as the program has it: it doesn't see the batch dimensions of its arguments.
struct HiddenCall {
  const schema::Schema& schema;
  std::string overload;              // empty: chosen by the arguments
  Values arguments;                  // in the order of the schema
  std::vector<ir::TypeRef> results;  // as the file states them
};

// Writes the call for the batch dimensions that its arguments have, and returns its results. Throws Unbatchable.
Values batched_call(NodeWriter& nodes, Batches& batches, const HiddenCall& call);

bool draws_random_numbers(const HiddenCall& call);

}  // namespace compatcheck::frontend::pt2
