#include "analysis/onnx_model.h"

#include "onnx/cleanup.h"

namespace compatcheck::analysis {

CheckOptions check_options(const ConvertOptions& options) {
  return {.opset = options.opset, .inputs = options.inputs, .inputs_from = options.inputs_from, .dims = options.dims,
          .custom_opsets = options.custom_opsets, .inline_functions = options.inline_functions, .timeout_seconds = options.timeout_seconds, .run = options.run};
}

onnx::Model onnx_model(const Model::State& model, const Prepared& prepared, const ConvertOptions& options, const ir::Watch& watch,
                       std::vector<conversion::Stand>* stands) {
  const conversion::Context context = context_of(model, prepared, watch);
  onnx::Model made = conversion::lower(prepared.graph, context, {options.opset, options.input_names, options.output_names}, stands);
  made.producer_version = COMPATCHECK_VERSION;
  const int weights = model.file ? model.file->descriptor() : -1;
  if (options.optimize) {
    onnx::remove_identities(made);
    if (options.fold && !options.keep_initializers_as_inputs) onnx::fold_weights(made, weights);
    if (options.fold) onnx::fuse_batch_norm(made, weights);
    onnx::merge_equal(made);
  }
  onnx::remove_dead(made);
  onnx::guard_padding(made);
  if (options.keep_initializers_as_inputs) onnx::offer_weights(made);
  onnx::name_all(made);
  return made;
}

}  // namespace compatcheck::analysis
