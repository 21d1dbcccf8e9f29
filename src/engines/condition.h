// Whether a node fits the conditions of a profile's entry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compatcheck/report.h"
#include "engines/node.h"
#include "mapping/row.h"

namespace compatcheck::engines {

// The statement that would settle an open condition.
enum class SettledBy : std::uint8_t {
  nothing,
  inputs,  // the dtypes and sizes of the model's inputs
  values,  // the same, where the value that a condition tests follows from them
};

// `message` says what no and unknown are about: "the rank of X must be 4, but is 3".
struct Fit {
  Support support = Support::yes;
  std::string message{};
  SettledBy settled_by = SettledBy::nothing;  // if unknown
};

// One of several suffices; none: always. Names that the operator's version lacks, or that the node doesn't set, violate only
// {none: false}.
Fit fits(const std::vector<mapping::Conditions>& when, const Node& node);

// "5", "[1, 1]", "\"constant\"" as onnx spells a default.
Attribute default_of(const onnx::Attribute& attribute);

}  // namespace compatcheck::engines
