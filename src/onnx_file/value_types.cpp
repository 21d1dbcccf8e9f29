#include "onnx_file/value_types.h"

#include "onnx/schema.h"
#include "onnx_file/data_types.h"

namespace compatcheck::onnx_file {
namespace {

std::vector<std::string> sizes_of(const ::onnx::TensorShapeProto& shape) {
  std::vector<std::string> sizes;
  for (const auto& dim : shape.dim())
    sizes.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param());
  return sizes;
}

template <class Tensor>
std::string spell_tensor(const Tensor& tensor) {
  std::string text = dtype_name(tensor.elem_type());
  if (!tensor.has_shape()) return text;
  text += "[";
  const auto sizes = sizes_of(tensor.shape());
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "," : "") + sizes[i];
  return text + "]";
}

}  // namespace

std::string spell(const ::onnx::TypeProto& type) {
  using Type = ::onnx::TypeProto;
  switch (type.value_case()) {
    case Type::kTensorType: return spell_tensor(type.tensor_type());
    case Type::kSparseTensorType: return "sparse(" + spell_tensor(type.sparse_tensor_type()) + ")";
    case Type::kSequenceType: return "seq(" + spell(type.sequence_type().elem_type()) + ")";
    case Type::kOptionalType: return "optional(" + spell(type.optional_type().elem_type()) + ")";
    case Type::kMapType:
      return "map(" + dtype_name(type.map_type().key_type()) + ", " + spell(type.map_type().value_type()) + ")";
    case Type::kOpaqueType: return "opaque(" + operator_name(type.opaque_type().domain(), type.opaque_type().name()) + ")";
    case Type::VALUE_NOT_SET: return "?";
  }
  return "?";
}

TensorInfo info_of(const std::string& name, const ::onnx::TypeProto& type) {
  TensorInfo info{.name = name, .dtype = {}, .shape = {}};
  if (!type.has_tensor_type()) {
    info.dtype = spell(type);
    return info;
  }
  info.dtype = dtype_name(type.tensor_type().elem_type());
  if (type.tensor_type().has_shape()) info.shape = sizes_of(type.tensor_type().shape());
  return info;
}

TensorInfo info_of(const ::onnx::ValueInfoProto& value) { return info_of(value.name(), value.type()); }

std::string operator_name(const std::string& domain, const std::string& op) {
  return onnx::is_own_domain(domain) ? op : domain + "::" + op;
}

}  // namespace compatcheck::onnx_file
