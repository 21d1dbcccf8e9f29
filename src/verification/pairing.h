// Somebody's ONNX file beside the TorchScript model: which input is which, and whether both can be given the same.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "verification/inputs.h"
#include "verification/onnx_graph.h"

namespace compatcheck::verification {

// The file's inputs as --input would state them: numbers where it has them, names where a size is dynamic. Only for inputs that
// are found by name, or by place where both have as many, and not where dtype or rank contradicts what the model records.
std::vector<std::string> input_specs(const std::vector<OnnxGraph::Given>& inputs, const ir::Graph& graph);

// Inputs that the file's metadata lists (analysis::complex_metadata) as the complex tensors that they stand for.
void unpair(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata);

// Where the options fix a size to which the file gives a name, the name stands in the option and the number among `dims`: both
// conversions then are of the same dynamic dimensions.
void keep_names(std::vector<std::string>& inputs, std::vector<std::string>& dims, const std::vector<std::string>& of_file,
                const ir::Graph& graph);

// Why the file can't be run on these values; empty if it can. "the input 'ids' is i32 of rank 2, and i64 of rank 2 in …"
struct Unpaired {
  std::string rule;  // CC203, CC204
  std::string reason;
};
Unpaired unpaired(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& names,
                  const ir::Constants& values);

}  // namespace compatcheck::verification
