#include "retarget/scope.h"

#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>

#include "onnx/builder.h"
#include "onnx_file/external_data.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::TensorProto;

bool is_here(const TensorProto& tensor) { return tensor.unknown_fields().empty() && !onnx_file::is_external(tensor); }

// Nullopt where the elements don't fit the dims.
template <class To, class From>
std::optional<std::vector<To>> parsed(const TensorProto& tensor) {
  try {
    const std::vector<From> values = ::onnx::ParseData<From>(&tensor);
    if (static_cast<std::int64_t>(values.size()) != elements_of(tensor)) return std::nullopt;
    return std::vector<To>(values.begin(), values.end());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::int64_t elements_of(const TensorProto& tensor) {
  const auto count = onnx_file::element_count(tensor);
  return count ? static_cast<std::int64_t>(*count) : std::numeric_limits<std::int64_t>::max();
}

std::optional<std::vector<std::int64_t>> ints_of(const TensorProto& tensor) {
  if (!is_here(tensor) || elements_of(tensor) > most_elements) return std::nullopt;
  if (tensor.data_type() == TensorProto::INT64) return parsed<std::int64_t, std::int64_t>(tensor);
  if (tensor.data_type() == TensorProto::INT32) return parsed<std::int64_t, std::int32_t>(tensor);
  return std::nullopt;
}

std::optional<std::vector<double>> floats_of(const TensorProto& tensor) {
  if (!is_here(tensor) || elements_of(tensor) > most_elements) return std::nullopt;
  if (tensor.data_type() == TensorProto::FLOAT) return parsed<double, float>(tensor);
  if (tensor.data_type() == TensorProto::DOUBLE) return parsed<double, double>(tensor);
  if (const auto ints = ints_of(tensor)) return std::vector<double>(ints->begin(), ints->end());
  return std::nullopt;
}

TensorProto floats_tensor(const std::vector<float>& values) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

TensorProto ints_tensor(const std::vector<std::int64_t>& values, bool scalar) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::INT64);
  if (!scalar) tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

const ::onnx::AttributeProto* attribute_of(const ::onnx::NodeProto& node, std::string_view name) {
  const auto found = std::ranges::find_if(node.attribute(), [&](const auto& attribute) { return attribute.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t int_of(const ::onnx::NodeProto& node, std::string_view name, std::int64_t otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? attribute->i() : otherwise;
}

double float_of(const ::onnx::NodeProto& node, std::string_view name, double otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

std::string string_of(const ::onnx::NodeProto& node, std::string_view name, std::string otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? attribute->s() : std::move(otherwise);
}

std::int64_t axis_of(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) throw onnx::Refusal{"it has an axis that its input doesn't have"};
  return axis < 0 ? axis + rank : axis;
}

const std::string& input_of(const ::onnx::NodeProto& node, int index) {
  static const std::string none;
  return index < node.input_size() ? node.input(index) : none;
}

Scope::Scope(const ::onnx::GraphProto& graph, onnx_file::ValueTypes& types, const Scope* around, bool defaults_count)
    : graph_(graph), types_(types), around_(around) {
  for (const auto& input : graph.input()) given_.insert(input.name());
  for (const auto& tensor : graph.initializer()) {
    initializers_.emplace(tensor.name(), &tensor);
    if (defaults_count) given_.erase(tensor.name());
  }
  for (const auto& tensor : graph.sparse_initializer()) given_.insert(tensor.values().name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) producers_.emplace(output, &node);
}

const Scope* Scope::find(const std::string& value) const {
  for (const Scope* scope = this; scope; scope = scope->around_)
    if (scope->given_.contains(value) || scope->initializers_.contains(value) || scope->producers_.contains(value)) return scope;
  return nullptr;
}

const ::onnx::TypeProto* Scope::type(const std::string& value) const {
  const Scope* scope = find(value);
  return scope ? scope->types_.find(scope->graph_, value) : nullptr;
}

std::optional<ir::DType> Scope::dtype(const std::string& value) const {
  const auto* known = type(value);
  return known && known->has_tensor_type() ? onnx::dtype_from_data_type(known->tensor_type().elem_type()) : std::nullopt;
}

std::optional<std::vector<std::optional<std::int64_t>>> Scope::sizes(const std::string& value) const {
  const auto* known = type(value);
  if (!known || !known->has_tensor_type() || !known->tensor_type().has_shape()) return std::nullopt;
  std::vector<std::optional<std::int64_t>> sizes;
  for (const auto& dim : known->tensor_type().shape().dim())
    sizes.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? std::optional(dim.dim_value()) : std::nullopt);
  return sizes;
}

std::optional<std::int64_t> Scope::rank(const std::string& value) const {
  const auto known = sizes(value);
  return known ? std::optional(static_cast<std::int64_t>(known->size())) : std::nullopt;
}

const TensorProto* Scope::made_by(const ::onnx::NodeProto& node) const {
  if (const auto found = made_by_.find(&node); found != made_by_.end()) return found->second;
  const TensorProto*& made = made_by_[&node];
  if (!is_own(node, "Constant") || node.attribute_size() != 1) return made;
  const auto& attribute = node.attribute(0);
  if (attribute.name() == "value") return made = &attribute.t();
  TensorProto tensor;
  if (attribute.name() == "value_int")
    tensor = ints_tensor({attribute.i()}, true);
  else if (attribute.name() == "value_ints")
    tensor = ints_tensor({attribute.ints().begin(), attribute.ints().end()});
  else if (attribute.name() == "value_float")
    tensor = ::onnx::ToTensor(attribute.f());
  else if (attribute.name() == "value_floats") {
    tensor = floats_tensor({attribute.floats().begin(), attribute.floats().end()});
  } else {
    return made;
  }
  return made = &made_.emplace_back(std::move(tensor));
}

const TensorProto* Scope::constant(const std::string& value) const {
  const Scope* scope = this;
  const std::string* name = &value;
  for (int behind = 0; behind < most_identities; ++behind) {
    scope = name->empty() ? nullptr : scope->find(*name);
    if (!scope || scope->given_.contains(*name)) return nullptr;
    const TensorProto* tensor = nullptr;
    if (const auto found = scope->initializers_.find(*name); found != scope->initializers_.end())
      tensor = found->second;
    else if (const auto node = scope->producers_.find(*name); node != scope->producers_.end()) {
      if (is_own(*node->second, "Identity") && node->second->input_size() == 1) {
        name = &node->second->input(0);
        continue;
      }
      tensor = scope->made_by(*node->second);
    }
    return tensor && is_here(*tensor) && elements_of(*tensor) <= most_elements ? tensor : nullptr;
  }
  return nullptr;
}

const TensorProto* Scope::initializer(const std::string& value) const {
  const Scope* scope = find(value);
  if (!scope || scope->given_.contains(value)) return nullptr;
  const auto found = scope->initializers_.find(value);
  return found == scope->initializers_.end() ? nullptr : found->second;
}

std::optional<std::vector<std::int64_t>> Scope::ints(const std::string& value) const {
  const TensorProto* tensor = constant(value);
  return tensor ? ints_of(*tensor) : std::nullopt;
}

}  // namespace compatcheck::retarget
