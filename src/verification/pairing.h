// Somebody's ONNX file beside the TorchScript model: which input is which, and whether both can be given the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/model_state.h"
#include "compatcheck/check.h"
#include "verification/inputs.h"
#include "verification/onnx_graph.h"

namespace compatcheck::verification {

// The file's inputs as --input would state them: numbers where it has them, names where a size is dynamic. Members of lists,
// tuples and dictionaries, too. Only for inputs that are found by name, or by place if both have as many others, and not where
// type, dtype or rank contradicts what the model records.
std::vector<std::string> input_specs(const std::vector<OnnxGraph::Given>& inputs, const Model::State& model);

// `specs` and the values that the file's metadata lists (analysis::values_metadata), in its order.
std::vector<std::string> with_values(const std::vector<std::string>& specs, const std::string& metadata,
                                     const Model::State& model);

// Returns `inputs`; options that omit the dtype get that of the file's input.
std::vector<std::string> with_dtypes(std::vector<std::string> inputs, const std::vector<std::string>& of_file,
                                     const Model::State& model);

// Returns the entries of `of_file` that `inputs` don't state, with the sizes that `inputs` give to the file's names.
std::vector<std::string> other_inputs(const std::vector<std::string>& of_file, const std::vector<std::string>& inputs,
                                      const Model::State& model);

// If inputs of the file aren't the model's, names the options that state the members which they are. Empty if all are the
// model's.
std::string how_to_state(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& options,
                         const Model::State& model);

// Why values can't be compared: the file takes other members of a list or dictionary, and the model may read all that it is
// given. Empty if they can. `inputs`: names of the file's. Members whose value `options` state are constants of the file.
std::string other_members(const std::vector<std::string>& inputs, const MadeCall& call, const std::vector<std::string>& options,
                          const Model::State& model);

// Why an example can't be compared: a file of compatcheck holds another value of an input as a constant. Empty if it can, and
// for what `options` state. `metadata`: what the file lists (analysis::values_metadata).
std::string other_values(const std::vector<std::string>& inputs, const MadeCall& call, const std::string& metadata,
                         const std::vector<std::string>& options, const Model::State& model);

// Returns the first dictionary that the model reads and whose keys neither its code nor an option states.
std::optional<std::string> open_dictionary(const std::vector<std::string>& options, const Model::State& model);

// Returns the inputs that both state in the file's order, in which the conversion read a dictionary's keys. `of_file` holds them
// as --input would state them.
std::vector<std::string> members_in_order(const std::vector<std::string>& of_file, const CheckOptions& options,
                                          const Model::State& model);

// Inputs that the file's metadata lists (analysis::complex_metadata) as the complex tensors that they stand for.
void unpair(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata);

// If the options fix a size to which the file gives a name, writes the name into the option and the number among `dims`, so that
// both conversions have the same dynamic dimensions.
void keep_names(std::vector<std::string>& inputs, std::vector<std::string>& dims, const std::vector<std::string>& of_file,
                const Model::State& model);

// Why the file can't be run on these values; empty if it can. "the input 'ids' is i32 of rank 2, and i64 of rank 2 in …"
struct Unpaired {
  std::string rule;  // CC203, CC204
  std::string reason;
};
Unpaired unpaired(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& names,
                  const ir::Constants& values);

}  // namespace compatcheck::verification
