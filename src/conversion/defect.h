// A defect of compatcheck that one call brings to light.
#pragma once

#include <exception>
#include <optional>

#include "compatcheck/error.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

// With the call's place.
struct DefectOfCall : InternalError {
  using InternalError::InternalError;
};

// False for errors that the caller must see (a model's, a table's, the end of the time limit), and for a lack of memory.
bool is_defect(const std::exception& fault);

// Names the operator, its place in the user's source and the opset; without one the fault lies in the facts, which hold at all.
DefectOfCall defect_at(const ir::Node& node, std::optional<int> opset, const std::exception& fault);

// Exceptions that aren't derived from std::exception (Refusal, Wanting, Impossible) pass.
template <class Work>
auto reporting_defects(const ir::Node& node, std::optional<int> opset, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const DefectOfCall&) {  // the defect is in a call in one of the node's blocks
    throw;
  } catch (const std::exception& fault) {
    if (!is_defect(fault)) throw;
    throw defect_at(node, opset, fault);
  }
}

}  // namespace compatcheck::conversion
