// compatcheck::convert: the check, then the same calls emitted for good.
#include "compatcheck/convert.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "analysis/boundary.h"
#include "analysis/check_model.h"
#include "analysis/input_spec.h"
#include "analysis/onnx_model.h"
#include "analysis/run.h"
#include "conversion/interface.h"
#include "files/naming.h"
#include "mapping/row.h"
#include "onnx/cleanup.h"
#include "onnx/proto.h"
#include "onnx/write.h"
#include "process/callback.h"
#include "process/log.h"
#include "process/spell_count.h"

namespace compatcheck {
namespace {

onnx::ExternalData external_data(ExternalData option) {
  return option == ExternalData::always  ? onnx::ExternalData::always
         : option == ExternalData::never ? onnx::ExternalData::never
                                         : onnx::ExternalData::automatic;
}

// Names of dimensions as inputs and outputs have them.
std::vector<std::string> dynamic_dimensions(const onnx::Model& model) {
  std::set<onnx::ValueId> weights;  // weights that are also inputs
  for (const auto& initializer : model.initializers) weights.insert(initializer.value);
  std::vector<std::string> names;
  for (const auto* values : {&model.graph.inputs, &model.graph.outputs})
    for (const onnx::ValueId value : *values)
      if (const auto& shape = model.values[value].shape; shape && !weights.contains(value))
        for (const auto& dim : *shape)
          if (!dim.size && !dim.name.empty() && std::ranges::find(names, dim.name) == names.end()) names.push_back(dim.name);
  return names;
}

Signature signature_of(const onnx::Model& model) {
  std::set<onnx::ValueId> weights;  // weights that are also inputs
  for (const auto& initializer : model.initializers) weights.insert(initializer.value);
  Signature made;
  for (const onnx::ValueId input : model.graph.inputs)
    if (!weights.contains(input)) made.inputs.push_back({model.values[input].name, conversion::spell(model.values[input])});
  for (const onnx::ValueId output : model.graph.outputs)
    made.outputs.push_back({model.values[output].name, conversion::spell(model.values[output])});
  return made;
}

WrittenModel described(const onnx::Model& model, const onnx::Written& written) {
  WrittenModel made{
      .opset = model.opset, .nodes = onnx::node_count(model), .initializers = model.initializers.size(), .bytes = written.bytes};
  made.dynamic_dimensions = dynamic_dimensions(model);
  made.signature = signature_of(model);
  if (!model.functions.empty()) {
    const auto proto = onnx::to_proto(model);
    for (const auto& function : proto.functions()) made.functions.push_back(function.domain() + "::" + function.name());
  }
  if (!written.external_file.empty()) made.external_files.push_back({written.external_file.string(), written.external_bytes});
  return made;
}

// The output of each call that is an input of the next one: {"k_cache": "k_cache.next"}.
std::string states_of(const onnx::Model& model, std::size_t states) {
  std::set<onnx::ValueId> weights;  // weights that are also inputs, after the others
  for (const auto& initializer : model.initializers) weights.insert(initializer.value);
  std::vector<onnx::ValueId> inputs;
  std::ranges::copy_if(model.graph.inputs, std::back_inserter(inputs),
                       [&](onnx::ValueId input) { return !weights.contains(input); });
  nlohmann::ordered_json pairs = nlohmann::ordered_json::object();
  for (std::size_t i = states; i > 0; --i)
    pairs[model.values[inputs[inputs.size() - i]].name] = model.values[model.graph.outputs[model.graph.outputs.size() - i]].name;
  return pairs.dump();
}

// "x=qu8(0.5,128)", one a line: inputs, then outputs.
std::string quantized_of(const onnx::Model& model) {
  std::string lines;
  const auto add = [&](onnx::ValueId value, const std::string& dtype) {
    lines += (lines.empty() ? "" : "\n") + model.values[value].name + "=" + dtype;
  };
  for (const auto& [input, dtype] : model.quantized_inputs) add(input, dtype);
  for (const auto& [place, dtype] : model.quantized_outputs) add(model.graph.outputs[place], dtype);
  return lines;
}

// Returns the facts that verify can't read from the file's inputs and outputs.
std::vector<std::pair<std::string, std::string>> metadata_of(const onnx::Model& model, const analysis::Prepared& prepared,
                                                             const ConvertOptions& options) {
  std::vector<std::pair<std::string, std::string>> made;
  if (!prepared.state.empty()) made.emplace_back(analysis::state_metadata, states_of(model, prepared.state.size()));
  if (prepared.complex_io == ComplexIo::pairs) {
    std::string names;
    for (const onnx::ValueId input : model.pairs) names += (names.empty() ? "" : "\n") + model.values[input].name;
    made.emplace_back(analysis::complex_metadata, names);
  }
  if (const std::string quantized = quantized_of(model); !quantized.empty()) {
    made.emplace_back(analysis::quantized_metadata, quantized);
    made.emplace_back(analysis::quantized_io_metadata, prepared.quantized_io == QuantizedIo::integers ? "int" : "float");
  }
  const auto add_lines = [&](const char* key, const std::vector<std::string>& lines) {
    if (!lines.empty()) made.emplace_back(key, mapping::joined(lines, "\n"));
  };
  add_lines(analysis::values_metadata, prepared.values);
  std::vector<std::string> ranges;
  for (const auto& [name, range] : analysis::named_ranges(options.dims))
    ranges.push_back(name + "=" + analysis::to_string(range));
  add_lines(analysis::ranges_metadata, ranges);
  return made;
}

// Writes by one of the ways of onnx::write().
template <class Write>
WrittenModel write_model(const analysis::CheckedModel& checked, const ConvertOptions& options, Write&& write) {
  const ir::Watch watch = analysis::watch_of(options.run, options.timeout_seconds);
  const auto& [state, prepared, reports] = checked;
  std::vector<conversion::Stand> stands;
  const onnx::Model model = analysis::onnx_model(state, prepared, options, watch, &stands);
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    if (options.run.cancel && *options.run.cancel) throw Cancelled("cancelled");
    process::report_progress(options.run, {.stage = "write", .done = done, .total = total});
  };
  const logging::Timed timed("writing the model");
  const int weights = state.file ? state.file->descriptor() : -1;
  const onnx::Written written = write(model, weights,
                                      onnx::WriteOptions{.external_data = external_data(options.external_data),
                                                         .shapes = analysis::known_shapes(model, stands, prepared.facts),
                                                         .metadata = metadata_of(model, prepared, options),
                                                         .progress = progress});
  timed.done();
  logging::info("{}: wrote {}, {}", state.path, spell_count(onnx::node_count(model), "node"),
                spell_count(written.bytes + written.external_bytes, "byte"));
  return described(model, written);
}

// Throws if the output file is the model itself.
void must_be_another(const std::string& model, const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::equivalent(model, file, error)) throw UsageError(file.string() + ": that is the model itself");
}

bool accepted(Report& report, const ConvertOptions& options) {
  if (!report.convertible()) {
    report.exit_code = exit_findings;
    return false;
  }
  if (options.accept && !process::call(options.accept, report)) report.gate.passed = false;
  report.exit_code = report.gate.passed ? exit_passed : exit_findings;
  return report.gate.passed;
}

template <class Write>
Report converted(const Model& model, const ConvertOptions& options, Write&& write) {
  analysis::refuse_ranges(model.state(), "convert");
  return files::naming(model.path(), [&] {
    const int opset = options.opset;
    analysis::CheckedModel checked =
        analysis::check_model(model.state(), {&opset, 1}, analysis::check_options(options), analysis::clean_up_of(options));
    Report report = std::move(checked.reports.front());
    if (accepted(report, options)) report.written = write_model(checked, options, write);
    if (report.written && report.signature) report.written->signature.traced_batches = report.signature->traced_batches;
    return report;
  });
}

}  // namespace

Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options) {
  return analysis::guarded(model.path(), [&] {
    must_be_another(model.path(), file);
    must_be_another(model.path(), file.string() + ".data");
    return converted(model, options, [&](const onnx::Model& made, int weights, const onnx::WriteOptions& how) {
      return onnx::write(made, weights, file, how);
    });
  });
}

Report convert(const Model& model, const WriteBytes& write, const ConvertOptions& options) {
  return analysis::guarded(model.path(), [&] {
    return converted(model, options, [&](const onnx::Model& made, int weights, const onnx::WriteOptions& how) {
      return onnx::write(
          made, weights, [&](std::span<const std::byte> piece) { process::call(write, piece); }, how);
    });
  });
}

}  // namespace compatcheck
