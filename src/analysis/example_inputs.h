// Example inputs matched to a model's inputs.
#pragma once

#include <filesystem>
#include <vector>

#include "convert/facts.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

// dtype and sizes of each tensor, None, and the length of each list; of numbers and strings nothing, for the next call may have
// others. Members of tuples, lists and dicts are NAME.0 and NAME.key. Throws UsageError, naming the file, for what it doesn't
// hold or doesn't fit the model.
std::vector<conversion::InputFact> example_inputs(const std::filesystem::path& file, const ir::Graph& graph);

}  // namespace compatcheck::analysis
