// The caller's statements about a model's inputs: specs, and example inputs where there is no spec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compatcheck/check.h"
#include "conversion/facts.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

using Defaults = std::vector<std::pair<std::size_t, ir::Constant>>;  // values of inputs, keyed by index

struct GivenInputs {
  std::vector<conversion::InputFact> facts;
  Defaults left_out;  // inputs that take their default
  Defaults numbers;   // inputs that are numbers or texts and whose value is stated
  // If values are stated: every input that is stated, in that order, "w.a=0.5", "mask=none", "rows=empty" for a list without
  // members, and a name alone of an ONNX input.
  std::vector<std::string> values;
  std::vector<std::pair<std::string, ir::TypeRef>> chosen{};  // members of Unions that the examples are, by the inputs' names
  std::vector<std::string> warnings;  // the stated dtype or rank differs from that in the graph or its file; sizes may differ
};

// The second is the first, or a member of it.
bool covers(const std::string& name, const std::string& other);

// `defaults`: of inputs, by number, unless the caller speaks of them. Throws UsageError for what doesn't fit the model.
GivenInputs given_inputs(const CheckOptions& options, const ir::Graph& graph,
                         std::span<const std::pair<std::size_t, ir::Constant>> defaults);

// Inputs that a call leaves out become the model's defaults, and stated numbers become constants, which settles branches that
// nothing else does.
void take_values(ir::Graph& graph, const Defaults& values);

// The file's own record of its inputs, and of the members of lists and dictionaries, is finer than the graph's types.
void take_recorded_types(std::span<ir::Value* const> inputs, const std::vector<ir::RecordedInput>& recorded);

}  // namespace compatcheck::analysis
