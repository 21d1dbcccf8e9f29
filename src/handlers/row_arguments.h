// A row's bindings of the call's arguments to its one node.
#pragma once

#include <cstddef>
#include <string_view>

#include "handlers/emission.h"
#include "mapping/row.h"
#include "schema/schema.h"

namespace compatcheck::handlers {

// Whether the argument is a tensor, or several, of which results are made, unlike an `out` tensor or an option.
bool is_operand(const schema::Argument& argument);
// How many of `inputs` the node gets: those at the end that {none: argument} leaves out don't count.
std::size_t given_inputs(const mapping::Row& row);
// Whether the row names the argument in `inputs` or `attributes`, or tests its value in each alternative of `when`.
bool names_argument(const mapping::Row& row, std::string_view argument);

// The inputs and attributes of the row's node, or of its ONNX text.
struct BoundArguments {
  Values inputs;
  Arguments attributes;
};
BoundArguments bind_arguments(Emission& emission);

}  // namespace compatcheck::handlers
