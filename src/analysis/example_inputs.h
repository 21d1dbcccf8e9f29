// Example inputs matched to a model's inputs.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "conversion/facts.h"
#include "examples/examples.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

// A tensor, number, text, None or empty list by its name. Throws UsageError, naming the file, for what it doesn't hold or doesn't
// fit the model.
struct ExampleLeaf {
  std::string name;
  ir::Constant value;
};
std::vector<ExampleLeaf> example_leaves(const std::filesystem::path& file, const ir::Graph& graph, examples::Elements elements);

// dtype and sizes of each tensor, None, and the length of each list; numbers and strings only count as given, because
// the next call may have others. Members of tuples, lists and dicts are NAME.0 and NAME.key.
struct ExampleFacts {
  std::vector<conversion::InputFact> facts;
  std::vector<std::string> names;  // names of everything that is given
  std::vector<std::string> empty_dicts{};
  std::vector<std::pair<std::string, ir::TypeRef>> chosen{};  // members of Unions that the examples are, by their names
};
// Throws UsageError, naming the file, for what it doesn't hold or doesn't fit the model.
ExampleFacts example_inputs(const std::filesystem::path& file, const ir::Graph& graph);

}  // namespace compatcheck::analysis
