#include "verification/stated_by_file.h"

#include <sstream>
#include <utility>

#include "analysis/exported_inputs.h"
#include "analysis/input_spec.h"
#include "analysis/onnx_model.h"
#include "analysis/run.h"
#include "compatcheck/error.h"
#include "verification/members.h"
#include "verification/onnx_graph.h"
#include "verification/pairing.h"
#include "verification/quantized.h"

namespace compatcheck::verification {

VerifyOptions with_stated_inputs(const Model::State& model, VerifyOptions options) {
  const ir::Watch watch = analysis::watch_of(options.convert.run, options.convert.timeout_seconds);
  const CheckOptions stated = analysis::with_exported_inputs(analysis::state_of(model, options.convert.state, watch),
                                                             analysis::check_options(options.convert));
  options.convert.inputs = stated.inputs;
  options.convert.dims = stated.dims;
  return options;
}

bool states_inputs(const VerifyOptions& options) {
  return !options.convert.inputs.empty() || !options.convert.inputs_from.empty();
}

StatedByFile stated_by_file(const Model::State& model, const std::filesystem::path& onnx, VerifyOptions options) {
  const ir::Watch watch = analysis::watch_of(options.convert.run, options.convert.timeout_seconds);
  const OnnxGraph file(onnx, watch);
  if (file.metadata(analysis::state_metadata)) options.convert.state = StateMode::inputs_outputs;
  auto given = file.inputs();
  if (const auto complex = file.metadata(analysis::complex_metadata)) {
    options.convert.complex_io = ComplexIo::pairs;
    unpair(given, *complex);
  }
  if (const auto quantized = file.metadata(analysis::quantized_metadata)) {
    const bool integers = file.metadata(analysis::quantized_io_metadata) == "int";
    options.convert.quantized_io = integers ? QuantizedIo::integers : QuantizedIo::floats;
    requantize(given, *quantized);
  }
  const auto inputs = with_values(analysis::with_fixed_sizes(model, input_specs(given, model)),
                                  file.metadata(analysis::values_metadata).value_or(""), model);
  std::istringstream ranges(file.metadata(analysis::ranges_metadata).value_or(""));
  for (std::string range; !model.exported && std::getline(ranges, range);)
    if (!analysis::named_ranges(options.convert.dims).contains(analysis::named_size(range).name))
      options.convert.dims.push_back(range);
  options.convert.inputs = with_dtypes(std::move(options.convert.inputs), inputs, model);
  if (!states_inputs(options))
    options.convert.inputs = inputs;
  else if (options.bisect || !options.repro.empty())
    keep_names(options.convert.inputs, options.convert.dims, inputs, model);
  if (options.convert.inputs_from.empty() && !model.exported)
    for (std::string& other : other_inputs(inputs, options.convert.inputs, model))
      options.convert.inputs.push_back(std::move(other));
  if (options.convert.inputs_from.empty() && open_dictionary(options.convert.inputs, model))
    if (const std::string how = how_to_state(given, options.convert.inputs, model); !how.empty()) throw UsageError(how);
  auto members = members_in_order(inputs, analysis::check_options(options.convert), model);
  return {std::move(options), std::move(members)};
}

}  // namespace compatcheck::verification
