#include "analysis/onnx_model.h"

#include "conversion/assess.h"
#include "conversion/interface.h"
#include "conversion/raw.h"
#include "files/zip.h"
#include "onnx/cleanup.h"
#include "process/log.h"
#include "process/spell_count.h"

namespace compatcheck::analysis {

CleanUp clean_up_of(const ConvertOptions& options) {
  return {.keep_initializers_as_inputs = options.keep_initializers_as_inputs, .fold = options.fold, .optimize = options.optimize};
}

ConvertOptions convert_options(const CheckOptions& options, int opset, const CleanUp& clean_up) {
  ConvertOptions made;
  made.opset = opset;
  made.inline_functions = options.inline_functions;
  made.export_type = options.export_type;
  made.complex_io = options.complex_io;
  made.quantized_io = options.quantized_io;
  made.prefer = options.prefer;
  made.keep_initializers_as_inputs = clean_up.keep_initializers_as_inputs;
  made.fold = clean_up.fold;
  made.optimize = clean_up.optimize;
  return made;
}

CheckOptions check_options(const ConvertOptions& options) {
  return {.opset = options.opset,
          .inputs = options.inputs,
          .inputs_from = options.inputs_from,
          .dims = options.dims,
          .custom_opsets = options.custom_opsets,
          .inline_functions = options.inline_functions,
          .export_type = options.export_type,
          .state = options.state,
          .complex_io = options.complex_io,
          .quantized_io = options.quantized_io,
          .prefer = options.prefer,
          .fail_on = options.fail_on,
          .targets = options.targets,
          .timeout_seconds = options.timeout_seconds,
          .run = options.run};
}

namespace {

constexpr std::uint64_t most_read = 64 << 10;  // bytes to read of a weight in a file that is read by ranges

// A storage in such a file has the offset of its record's header.
std::uint64_t contents_of(const files::InputFile& file, const ir::Storage& storage) {
  files::ZipRecord record;
  record.name = storage.record;
  record.header = storage.file_offset;
  return files::contents_offset(file, record);
}

onnx::WeightFile weight_file(const Model::State& model) {
  if (!model.file) return {};
  if (!model.file->is_ranged()) return {.descriptor = model.file->descriptor()};
  const auto read = [&file = *model.file](const ir::Storage& storage, std::uint64_t offset, std::span<std::uint8_t> into) {
    file.read_into(contents_of(file, storage) + offset, into);
  };
  return {.read = read, .most_read = most_read};
}

void fetch_weights(const files::InputFile& file, const std::vector<const onnx::TensorData*>& weights) {
  constexpr std::uint64_t header_bytes = 256;  // including the record's name and padding
  std::vector<ByteRange> ranges;
  for (const onnx::TensorData* weight : weights) {
    const ir::Storage& storage = *weight->view->storage;
    if (storage.data.size() < storage.bytes && storage.bytes <= most_read)
      ranges.push_back({storage.file_offset, header_bytes + storage.bytes});
  }
  file.fetch(ranges);
}

onnx::Model lowered(const ir::Graph& graph, const conversion::Context& context, const ConvertOptions& options,
                    std::vector<conversion::Stand>* stands) {
  conversion::LowerOptions lower_options{options.opset, options.input_names, options.output_names};
  if (options.export_type == ExportType::raw) return conversion::raw_model(graph, context, lower_options);
  if (options.export_type != ExportType::onnx) lower_options.foreign = conversion::Assessor(graph, context).kept(options.opset);
  return conversion::lower(graph, context, lower_options, stands);
}

// Merges the same sizes from two values: one may have sizes that the other doesn't know.
void add_known(std::vector<onnx::Dimension>& shape, const std::vector<onnx::Dimension>& more) {
  if (shape.size() != more.size()) return;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].size && shape[i].name.empty()) shape[i] = more[i];
}

}  // namespace

onnx::KnownShapes known_shapes(const onnx::Model& model, const std::vector<conversion::Stand>& stands,
                               const symbolic::FactTable& facts) {
  onnx::KnownShapes shapes;
  for (const auto& stand : stands) {
    const symbolic::Fact& fact = facts.of(stand.value);
    const auto* tensor = fact.tensor();
    const onnx::ValueId value = model.left_of(stand.onnx);
    if (!stand.path.empty() || !tensor || tensor->dtype != model.values[value].dtype) continue;
    const auto shape = conversion::shape_of(fact);
    if (!shape) continue;
    const auto [known, fresh] = shapes.emplace(value, *shape);
    if (!fresh) add_known(known->second, *shape);
  }
  return shapes;
}

onnx::Model onnx_model(const Model::State& model, const Prepared& prepared, const ConvertOptions& options, const ir::Watch& watch,
                       std::vector<conversion::Stand>* stands) {
  const conversion::Context context = context_of(model, prepared, watch, options.export_type);
  onnx::Model made = lowered(prepared.graph, context, options, stands);
  made.producer_version = COMPATCHECK_VERSION;
  if (options.export_type == ExportType::raw) {  // unchanged
    if (options.keep_initializers_as_inputs) onnx::offer_weights(made);
    onnx::name_all(made);
    return made;
  }
  onnx::WeightFile weights = weight_file(model);
  if (weights.read) fetch_weights(*model.file, onnx::weights_to_read(made, weights.most_read));
  const auto step = [&](const char* name, auto&& run) {
    run();
    if (logging::enabled(LogLevel::debug))
      logging::debug("clean-up {}: {} now", name, spell_count(onnx::node_count(made), "node"));
  };
  if (options.optimize) {
    step("remove_identities", [&] { onnx::remove_identities(made); });
    step("merge_equal", [&] { onnx::merge_equal(made); });
    if (options.fold && !options.keep_initializers_as_inputs)
      step("fold_constants", [&] { onnx::fold_constants(made, weights); });
    if (!options.keep_initializers_as_inputs) step("drop_zero_states", [&] { onnx::drop_zero_states(made); });
    if (options.fold) step("fuse_batch_norm", [&] { onnx::fuse_batch_norm(made, weights); });
    step("merge_equal", [&] { onnx::merge_equal(made); });
  }
  step("guard_quantized", [&] { onnx::guard_quantized(made); });
  step("remove_dead", [&] { onnx::remove_dead(made); });
  step("guard_padding", [&] { onnx::guard_padding(made); });
  step("guard_fusions", [&] { onnx::guard_fusions(made); });
  step("guard_slices", [&] { onnx::guard_slices(made); });
  if (options.keep_initializers_as_inputs) onnx::offer_weights(made);
  onnx::name_all(made);
  return made;
}

}  // namespace compatcheck::analysis
