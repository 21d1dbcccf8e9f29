#include "model_tools/validity.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "compatcheck/error.h"
#include "model_tools/external_data.h"

namespace compatcheck::model_tools {
namespace {

constexpr std::uint64_t most_calls = 1'000'000;   // nodes that inference walks, functions called each time anew

constexpr int deepest_calls = 200;

using FunctionKey = std::tuple<std::string, std::string, std::string>;

// Counts the nodes that a graph is when every call of a function stands for the function's nodes.
class Calls {
 public:
  explicit Calls(const ::onnx::ModelProto& model) {
    for (const auto& function : model.functions()) functions_[{function.domain(), function.name(), function.overload()}] = {&function};
  }

  std::uint64_t count(const auto& nodes) {
    std::uint64_t sum = 0;
    for (const auto& node : nodes) {
      sum += 1 + of_function({node.domain(), node.op_type(), node.overload()});
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) sum += count(attribute.g().node());
        for (const auto& graph : attribute.graphs()) sum += count(graph.node());
      }
      sum = std::min(sum, most_calls + 1);
    }
    return sum;
  }

 private:
  struct Function {
    const ::onnx::FunctionProto* proto = nullptr;
    std::uint64_t nodes = 0;
    enum { unknown, counting, counted } state = unknown;
  };

  std::uint64_t of_function(const FunctionKey& key) {
    const auto found = functions_.find(key);
    if (found == functions_.end()) return 0;
    Function& function = found->second;
    if (function.state == Function::counting) throw ModelError("isn't valid ONNX: the local function " + function.proto->name() + " calls itself");
    if (function.state == Function::counted) return function.nodes;
    if (++depth_ > deepest_calls) throw ModelError("calls local functions more than " + std::to_string(deepest_calls) + " deep");
    function.state = Function::counting;
    const std::uint64_t nodes = count(function.proto->node());
    function.nodes = nodes;
    function.state = Function::counted;
    --depth_;
    return nodes;
  }

  std::map<FunctionKey, Function> functions_;
  int depth_ = 0;
};

}  // namespace

void check_valid(const ::onnx::ModelProto& model) {
  Calls calls(model);
  calls.count(model.graph().node());
  for (const auto& function : model.functions()) calls.count(function.node());
  ::onnx::ModelProto copy = model;
  for_each_tensor(copy, [](::onnx::TensorProto& tensor) {
    if (tensor.unknown_fields().empty() && !is_external(tensor)) return;
    tensor.clear_dims();
    tensor.add_dims(0);
    tensor.clear_external_data();
    tensor.clear_data_location();
  });
  try {
    ::onnx::checker::check_model(copy);
  } catch (const std::exception& error) {
    throw ModelError(std::string("isn't valid ONNX: ") + error.what());
  }
}

ValueTypes::ValueTypes(const ::onnx::ModelProto& model) : model_(model) {
  const auto& graph = model.graph();
  for (const auto& tensor : graph.initializer()) {
    auto* type = types_[tensor.name()].mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    auto* shape = type->mutable_shape();
    for (const auto dim : tensor.dims()) shape->add_dim()->set_dim_value(dim);
  }
  for (const auto* values : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const auto& value : *values)
      if (value.has_type()) types_[value.name()] = value.type();
}

const ::onnx::TypeProto* ValueTypes::find(const std::string& value) {
  const auto whole = [&] {
    const auto found = types_.find(value);
    return found != types_.end() && is_whole(found->second);
  };
  if (!whole() && !std::exchange(inferred_, true)) infer();
  const auto found = types_.find(value);
  return found == types_.end() ? nullptr : &found->second;
}

void ValueTypes::infer() {
  if (Calls(model_).count(model_.graph().node()) > most_calls) return;
  ::onnx::ModelProto inferred = model_;
  try {
    ::onnx::shape_inference::InferShapes(inferred, ::onnx::OpSchemaRegistry::Instance(), ::onnx::ShapeInferenceOptions(false, 0, true));
  } catch (const std::exception&) {
    return;   // the checker says what is wrong
  }
  for (const auto* values : {&inferred.graph().value_info(), &inferred.graph().output()})
    for (const auto& value : *values)
      if (auto& known = types_[value.name()]; value.has_type() && !is_whole(known)) known = value.type();
}

bool is_whole(const ::onnx::TypeProto& type) {
  using Type = ::onnx::TypeProto;
  switch (type.value_case()) {
    case Type::kTensorType: return type.tensor_type().elem_type() != 0 && type.tensor_type().has_shape();
    case Type::kSparseTensorType: return type.sparse_tensor_type().elem_type() != 0 && type.sparse_tensor_type().has_shape();
    case Type::VALUE_NOT_SET: return false;
    default: return true;
  }
}

}  // namespace compatcheck::model_tools
