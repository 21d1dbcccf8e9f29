#include "analysis/describe.h"

#include <algorithm>
#include <optional>

#include "conversion/interface.h"
#include "ir/quantized.h"
#include "ir/value_name.h"
#include "symbolic/quantizer.h"

namespace compatcheck::analysis {
namespace {

TensorInfo describe_value(const std::string& name, const ir::Value& value, const symbolic::Fact& fact) {
  if (const auto* tensor = fact.tensor()) {
    TensorInfo info = describe(name, *tensor);
    if (value.producer() && value.producer()->is("prim::OptionalConstruct")) info.dtype += "?";  // as TorchScript writes "int?"
    return info;
  }
  TensorInfo info{.name = name, .dtype = "?", .shape = {}};
  if (value.type() && value.type()->kind != ir::TypeKind::tensor) info.dtype = ir::to_string(*value.type());
  return info;
}

// How they stand in the ONNX model.
void describe_quantized(TensorInfo& info, const symbolic::Fact& fact, QuantizedIo form) {
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->dtype || !ir::is_quantized(*tensor->dtype) || !tensor->quantizer) return;
  const ir::Quantizer& quantizer = *tensor->quantizer;
  if (!symbolic::states_numbers(quantizer)) return;
  const std::string stored(ir::name(ir::stored_dtype(*tensor->dtype)));
  Quantization made{.scales = {quantizer.scale},
                    .zero_points = {quantizer.zero_point},
                    .onnx_dtype = form == QuantizedIo::integers ? stored : "f32"};
  if (quantizer.per_channel) made.scales = quantizer.scales, made.zero_points = quantizer.zero_points, made.axis = quantizer.axis;
  info.quantization = std::move(made);
}

// Whether the input or one of its members is assumed.
bool is_assumed(const std::string& name, const std::vector<AssumedInput>& assumed) {
  return std::ranges::any_of(
      assumed, [&](const AssumedInput& each) { return each.tensor.name == name || each.tensor.name.starts_with(name + "."); });
}

std::string describe_format(const Model::State& model) {
  if (model.format == frontend::Format::graph_text) return "TorchScript graph";
  if (model.format == frontend::Format::exported_program)
    return "exported program" + (model.program->producer.empty() ? std::string() : " (" + model.program->producer + ")");
  std::string text = "TorchScript (";
  if (!model.program->producer.empty()) text += model.program->producer + ", ";
  return text + (model.program->traced ? "traced)" : "scripted)");
}

std::optional<ir::DType> number_dtype(const ir::Constant& value) {
  if (value.get<bool>()) return ir::DType::boolean;
  if (value.get<std::int64_t>()) return ir::DType::i64;
  return value.get<double>() ? std::optional(ir::DType::f64) : std::nullopt;
}

// Among the inputs and outputs it stands as a tensor, as in the ONNX model.
void describe_state(const Prepared& prepared, ModelInfo& info) {
  const std::size_t states = prepared.state.size();
  for (std::size_t i = 0; i < states; ++i) {
    TensorInfo& input = info.inputs[info.inputs.size() - states + i];
    TensorInfo& output = info.outputs[info.outputs.size() - states + i];
    if (const auto dtype = number_dtype(prepared.state[i].initial))
      for (TensorInfo* number : {&input, &output}) number->dtype = ir::name(*dtype), number->shape.emplace();
    if (const auto* list = prepared.state[i].initial.get<ir::ListConstant>())
      input.dtype = output.dtype = ir::to_string(*ir::list_of(list->element));
    output.name = prepared.state[i].output;
    info.state.push_back({.attribute = prepared.state[i].path, .input = input, .output = output.name});
  }
}

}  // namespace

TensorInfo describe(const std::string& name, const symbolic::TensorFact& tensor) {
  TensorInfo info{.name = name, .dtype = "?", .shape = {}};
  if (tensor.dtype) info.dtype = ir::name(*tensor.dtype);
  if (tensor.shape) {
    info.shape.emplace();
    for (const auto& dim : *tensor.shape) info.shape->push_back(dim.to_string());
  }
  return info;
}

ModelInfo describe_model(const Model::State& model, const Prepared& prepared) {
  ModelInfo info;
  info.path = model.path;
  info.identity = model.identity;
  info.format = frontend::name(model.format);
  info.description = describe_format(model);
  info.bytes = model.bytes;
  info.parameters = {model.parameters.count, model.parameters.bytes};
  for (const ir::Value* input : prepared.graph.inputs())
    describe_quantized(info.inputs.emplace_back(describe_value(ir::input_name(*input), *input, prepared.facts.of(input))),
                       prepared.facts.of(input), prepared.quantized_io);
  for (TensorInfo& input : info.inputs) input.assumed = is_assumed(input.name, prepared.assumed);
  info.assumed = prepared.assumed;
  const auto outputs = prepared.graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    describe_quantized(
        info.outputs.emplace_back(describe_value(conversion::output_name(*outputs[i], "output_" + std::to_string(i)), *outputs[i],
                                                 prepared.facts.of(outputs[i]))),
        prepared.facts.of(outputs[i]), prepared.quantized_io);
  describe_state(prepared, info);
  if (model.program)
    for (const auto& note : model.program->notes) info.steps.push_back(note.message);
  info.steps.insert(info.steps.end(), prepared.steps.begin(), prepared.steps.end());
  info.warnings = prepared.warnings;
  return info;
}

}  // namespace compatcheck::analysis
