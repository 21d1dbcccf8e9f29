// compatcheck::convert: the check, then the same calls emitted for good.
#include "compatcheck/convert.h"

#include "analysis/boundary.h"
#include "analysis/onnx_model.h"
#include "analysis/run.h"
#include "frontend/naming.h"
#include "onnx/write.h"

namespace compatcheck {
namespace {

onnx::ExternalData external_data(ExternalData asked) {
  return asked == ExternalData::always  ? onnx::ExternalData::always
         : asked == ExternalData::never ? onnx::ExternalData::never
                                        : onnx::ExternalData::automatic;
}

void write_model(const Model::State& state, const std::filesystem::path& file, const ConvertOptions& options) {
  const ir::Watch watch = analysis::watch_of(options.run, options.timeout_seconds);
  const analysis::Prepared prepared = analysis::prepare(state, analysis::check_options(options), watch);
  const onnx::Model model = analysis::onnx_model(state, prepared, options, watch);
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    if (options.run.cancel && *options.run.cancel) throw Cancelled("cancelled");
    if (options.run.progress) options.run.progress({.stage = "write", .done = done, .total = total});
  };
  onnx::write(model, state.file ? state.file->descriptor() : -1, file, {external_data(options.external_data), progress});
}

// What is written would take the place of what is read.
void must_be_another(const std::string& model, const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::equivalent(model, file, error)) throw UsageError(file.string() + ": that is the model itself");
}

}  // namespace

Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options) {
  return analysis::guarded(model.path(), [&] {
    must_be_another(model.path(), file);
    must_be_another(model.path(), file.string() + ".data");
    Report report = check(model, analysis::check_options(options));
    if (report.convertible()) frontend::naming(model.path(), [&] { write_model(model.state(), file, options); });
    return report;
  });
}

}  // namespace compatcheck
