// compatcheck::convert: the check, then the same calls emitted for good.
#include "compatcheck/convert.h"

#include "analysis/boundary.h"
#include "analysis/prepare.h"
#include "analysis/run.h"
#include "convert/lower.h"
#include "frontend/naming.h"
#include "onnx/cleanup.h"
#include "onnx/write.h"

namespace compatcheck {
namespace {

onnx::ExternalData external_data(ExternalData asked) {
  return asked == ExternalData::always ? onnx::ExternalData::always : asked == ExternalData::never ? onnx::ExternalData::never : onnx::ExternalData::automatic;
}

CheckOptions check_options(const ConvertOptions& options) {
  return {.opset = options.opset, .inputs = options.inputs, .inputs_from = options.inputs_from, .dims = options.dims, .timeout_seconds = options.timeout_seconds, .run = options.run};
}

void write_model(const Model::State& state, const std::filesystem::path& file, const ConvertOptions& options) {
  const ir::Watch watch = analysis::watch_of(options.run, options.timeout_seconds);
  const analysis::Prepared prepared = analysis::prepare(state, check_options(options), watch);
  const conversion::Context context = analysis::context_of(state, prepared, watch);
  onnx::Model model = conversion::lower(prepared.graph, context, {options.opset, options.input_names, options.output_names});
  model.producer_version = COMPATCHECK_VERSION;
  const int weights = state.file ? state.file->descriptor() : -1;
  if (options.optimize) {
    onnx::remove_identities(model);
    if (options.fold && !options.keep_initializers_as_inputs) onnx::fold_weights(model, weights);
    if (options.fold) onnx::fuse_batch_norm(model, weights);
    onnx::merge_equal(model);
  }
  onnx::remove_dead(model);
  if (options.keep_initializers_as_inputs) onnx::offer_weights(model);
  onnx::name_all(model);
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    if (options.run.cancel && *options.run.cancel) throw Cancelled("cancelled");
    if (options.run.progress) options.run.progress({.stage = "write", .done = done, .total = total});
  };
  onnx::write(model, weights, file, {external_data(options.external_data), progress});
}

}  // namespace

Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options) {
  return analysis::guarded(model.path(), [&] {
    Report report = check(model, check_options(options));
    if (report.convertible()) frontend::naming(model.path(), [&] { write_model(model.state(), file, options); });
    return report;
  });
}

}  // namespace compatcheck
