// The inputs that an exported program states, in the form of the options, and the changes that options may make to them.
#pragma once

#include <vector>

#include "analysis/model_state.h"
#include "compatcheck/check.h"
#include "conversion/facts.h"
#include "symbolic/size_demands.h"

namespace compatcheck::analysis {

// Options that state every input of an exported program as the file does: names of dimensions are the file's symbols, or those
// from `--input` and `--dim SYMBOL=NAME`; the latter stay among `dims`. Other models' options stay unchanged. Throws
// UsageError if the options contradict the file.
CheckOptions with_exported_inputs(const Model::State& model, CheckOptions options);

// `inputs` of an ONNX file of the program, as --input would state them. Sizes that the program fixes become its numbers. Inputs
// with sizes that are expressions are dropped, because the program states them.
std::vector<std::string> with_fixed_sizes(const Model::State& model, std::vector<std::string> inputs);

// The ranges of named sizes that the file requires and options state.
std::vector<symbolic::SizeDemand> stated_ranges(const Model::State& model, const CheckOptions& options);

// Facts of inputs whose sizes are expressions, which no option can state. `options` come from with_exported_inputs().
std::vector<conversion::InputFact> exported_facts(const Model::State& model, const CheckOptions& options);

}  // namespace compatcheck::analysis
