// Requirements of ONNX and its readers for the results of If and Loop. Each function throws Refusal, or Wanting if an input may
// settle the requirement.
#pragma once

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

// Before opset 11, a result of an If must have the same sizes whichever branch runs.
void demand_one_shape(const ir::Node& node, const symbolic::FactTable& facts);

// Readers of ONNX files accept 100 nested messages, and each branch or loop within another is three.
void demand_depth(const ir::Node& node);

// An ONNX value has one dtype, whichever branch or iteration it comes from.
void demand_one_dtype(const ir::Node& node, const symbolic::FactTable& facts);

// Inside a model no operator accepts a value that is None only sometimes. Passes replace such a value by a bool and a value where
// they can follow it.
void demand_value(const ir::Node& node, const symbolic::FactTable& facts);

// Before opset 13, ONNX Runtime doesn't run an If without knowing the rank of its results.
void demand_ranks(const ir::Node& node, const symbolic::FactTable& facts);

}  // namespace compatcheck::conversion
