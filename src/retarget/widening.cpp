#include "retarget/widening.h"

#include <algorithm>

#include "onnx/cleanup.h"
#include "onnx/proto.h"
#include "onnx/schema.h"

namespace compatcheck::retarget {
namespace {

using onnx::Argument;
using onnx::Refusal;

onnx::TensorData data_of(const ::onnx::TensorProto& tensor) {
  const auto dtype = onnx::dtype_from_data_type(tensor.data_type());
  if (!dtype || !tensor.has_raw_data()) throw Refusal{"an attribute's tensor can't be written anew"};
  return {.dtype = *dtype,
          .dims = {tensor.dims().begin(), tensor.dims().end()},
          .bytes = {tensor.raw_data().begin(), tensor.raw_data().end()}};
}

Argument argument_of(const ::onnx::AttributeProto& attribute) {
  using Proto = ::onnx::AttributeProto;
  switch (attribute.type()) {
    case Proto::INT: return attribute.i();
    case Proto::FLOAT: return static_cast<double>(attribute.f());
    case Proto::STRING: return attribute.s();
    case Proto::INTS: return onnx::Ints(attribute.ints().begin(), attribute.ints().end());
    case Proto::FLOATS: return std::vector<double>(attribute.floats().begin(), attribute.floats().end());
    case Proto::STRINGS: return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
    case Proto::TENSOR: return data_of(attribute.t());
    default: throw Refusal{"its attribute " + attribute.name() + " can't be written anew"};
  }
}

}  // namespace

Piece widened(const ::onnx::NodeProto& node, Piece before, const Scope& scope, const Setting& setting, Names& names) {
  const Refusal unfit{node.op_type() + " doesn't take these dtypes at opset " + std::to_string(setting.to),
                      "use the file's opset " + std::to_string(setting.from)};
  if (node.op_type() == "Cast" || node.op_type() == "CastLike") throw unfit;
  onnx::Model model;
  model.opset = setting.to;
  onnx::Builder builder(model, setting.moved, {setting.to, setting.to});
  onnx::Values inputs;
  std::vector<std::string> read;
  for (const auto& input : node.input()) {
    if (input.empty()) {
      inputs.emplace_back();
      continue;
    }
    auto dtype = scope.dtype(input);
    const auto* type = scope.type(input);
    for (const auto& tensor : before.initializers)
      if (tensor.name() == input) dtype = onnx::dtype_from_data_type(tensor.data_type());
    if (!dtype || (type && !type->has_tensor_type())) throw unfit;
    inputs.push_back(builder.add_input(*dtype, std::nullopt, "input_" + std::to_string(read.size())));
    read.push_back(input);
  }
  onnx::Arguments attributes;
  for (const auto& attribute : node.attribute()) attributes.push_back({attribute.name(), argument_of(attribute)});
  try {
    const onnx::Values results = builder.nodes(node.op_type(), inputs, static_cast<std::size_t>(node.output_size()), attributes);
    for (int i = 0; i < node.output_size(); ++i) {
      const onnx::Value& result = results[static_cast<std::size_t>(i)];
      const auto* type = scope.type(node.output(i));
      if (!node.output(i).empty() && type && type->has_tensor_type() &&
          type->tensor_type().elem_type() != onnx::data_type(result.dtype))
        throw unfit;
      model.values[result.id].name = "result_" + std::to_string(i);
      model.graph.outputs.push_back(result.id);
    }
  } catch (const InternalError&) {
    throw unfit;
  }
  onnx::remove_dead(model);
  onnx::name_all(model);
  Piece piece = splice(*onnx::to_proto(model).mutable_graph(), node, read, names);
  std::ranges::move(piece.nodes, std::back_inserter(before.nodes));
  std::ranges::move(piece.initializers, std::back_inserter(before.initializers));
  return before;
}

}  // namespace compatcheck::retarget
