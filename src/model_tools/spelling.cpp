#include "model_tools/spelling.h"

#include <variant>

#include "ir/number_text.h"
#include "onnx_file/data_types.h"
#include "onnx_file/elements.h"
#include "onnx_file/external_data.h"
#include "onnx_file/value_types.h"

namespace compatcheck::model_tools {
namespace {

constexpr int most_items = 12;             // items of a list to spell
constexpr std::uint64_t few_elements = 8;  // largest tensor to spell with values

std::string text_of(const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return '"' + *text + '"';
  if (const auto* number = std::get_if<double>(&value)) return ir::plainly(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return std::to_string(std::get<std::int64_t>(value));
}

std::string spell_sizes(const auto& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims.Get(i));
  return text + "]";
}

template <class Items, class Spell>
std::string spell_list(const Items& items, Spell&& spell) {
  std::string text = "[";
  for (int i = 0; i < items.size() && i < most_items; ++i) text += (i ? ", " : "") + spell(items.Get(i));
  return text + (items.size() > most_items ? ", … " + std::to_string(items.size()) + " in all]" : "]");
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

}  // namespace

std::string type_of(const ::onnx::TensorProto& tensor) {
  return onnx_file::dtype_name(tensor.data_type()) + spell_sizes(tensor.dims());
}

std::string spell(const ::onnx::TensorProto& tensor) {
  std::string text = type_of(tensor);
  const auto elements = onnx_file::element_count(tensor);
  if (!elements || *elements > few_elements || onnx_file::is_external(tensor)) return text;
  const auto values = onnx_file::first_elements(tensor, *elements);
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : " {") + text_of(values[i]);
  return values.empty() ? text : text + "}";
}

std::string spell(const ::onnx::SparseTensorProto& tensor) {
  return "sparse " + onnx_file::dtype_name(tensor.values().data_type()) + spell_sizes(tensor.dims()) + " of " +
         std::to_string(onnx_file::element_count(tensor.values()).value_or(0)) + ", indices " +
         onnx_file::dtype_name(tensor.indices().data_type()) + spell_sizes(tensor.indices().dims());
}

std::string spell(const ::onnx::AttributeProto& attribute) {
  if (!attribute.ref_attr_name().empty()) return "@" + attribute.ref_attr_name();
  const auto spell_tensor = [](const auto& tensor) { return spell(tensor); };
  const auto spell_type = [](const ::onnx::TypeProto& type) { return onnx_file::spell(type); };
  if (attribute.floats_size() > 0) return spell_list(attribute.floats(), [](float value) { return ir::plainly(value); });
  if (attribute.ints_size() > 0) return spell_list(attribute.ints(), [](std::int64_t value) { return std::to_string(value); });
  if (attribute.strings_size() > 0) return spell_list(attribute.strings(), quoted);
  if (attribute.tensors_size() > 0) return spell_list(attribute.tensors(), spell_tensor);
  if (attribute.sparse_tensors_size() > 0) return spell_list(attribute.sparse_tensors(), spell_tensor);
  if (attribute.type_protos_size() > 0) return spell_list(attribute.type_protos(), spell_type);
  if (attribute.graphs_size() > 0)
    return std::to_string(attribute.graphs_size()) + (attribute.graphs_size() == 1 ? " body" : " bodies");
  if (attribute.has_t()) return spell(attribute.t());
  if (attribute.has_sparse_tensor()) return spell(attribute.sparse_tensor());
  if (attribute.has_tp()) return spell_type(attribute.tp());
  if (attribute.has_g()) return "a body";
  if (attribute.has_s()) return quoted(attribute.s());
  if (attribute.has_f()) return ir::plainly(attribute.f());
  if (attribute.has_i()) return std::to_string(attribute.i());
  return "[]";
}

std::string spell(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + value.name() + " " + onnx_file::spell(value.type());
  return text;
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (int i = 0; i < names.size(); ++i) text += (i ? ", " : "") + (names.Get(i).empty() ? "-" : names.Get(i));
  return text;
}

std::string full_operator(const ::onnx::NodeProto& node) {
  return onnx_file::operator_name(node.domain(), node.op_type()) + (node.overload().empty() ? "" : "." + node.overload());
}

std::string given_by(const ::onnx::NodeProto& node) {
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return {};
}

std::string title_of(const ::onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  const std::string given = given_by(node);
  return given.empty() ? node.op_type() : given;
}

std::string title_of(const ::onnx::FunctionProto& function) {
  return onnx_file::operator_name(function.domain(), function.name()) +
         (function.overload().empty() ? "" : "." + function.overload());
}

}  // namespace compatcheck::model_tools
