#include "onnx_file/validity.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "onnx/proto.h"
#include "onnx_file/external_data.h"
#include "onnx_file/graph_index.h"

namespace compatcheck::onnx_file {
namespace {

constexpr std::uint64_t most_calls = 1'000'000;  // nodes that inference walks, functions called each time anew
constexpr int deepest_calls = 200;

using FunctionKey = std::tuple<std::string, std::string, std::string>;

// Counts the nodes that a graph is when every call of a function stands for the function's nodes.
class Calls {
 public:
  explicit Calls(const ::onnx::ModelProto& model) {
    for (const auto& function : model.functions())
      functions_[{function.domain(), function.name(), function.overload()}] = {&function};
  }

  std::uint64_t count(const auto& nodes) {
    std::uint64_t sum = 0;
    for (const auto& node : nodes) {
      sum += 1 + of_function({node.domain(), node.op_type(), node.overload()});
      for_each_body(node, [&](const ::onnx::GraphProto& body) { sum += count(body.node()); });
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
    if (function.state == Function::counting)
      throw ModelError("isn't valid ONNX: the local function " + function.proto->name() + " calls itself");
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

constexpr std::int64_t longest_vector = 1 << 16;

// ONNX's propagation of small contents makes a dimension for each element of a vector of integers, known or not.
bool has_long_vector(const ::onnx::GraphProto& graph) {
  for (const auto* values : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const auto& value : *values) {
      const auto& shape = value.type().tensor_type().shape();
      if (shape.dim_size() == 1 && shape.dim(0).dim_value() > longest_vector) return true;
    }
  bool found = false;
  for (const auto& node : graph.node())
    for_each_body(node, [&](const ::onnx::GraphProto& body) { found = found || has_long_vector(body); });
  return found;
}

// Some exporters write -1 for an unknown size, and onnx's inference indexes with it.
void forget_negative_sizes(::onnx::GraphProto& graph) {
  for (auto* values : {graph.mutable_input(), graph.mutable_value_info(), graph.mutable_output()})
    for (auto& value : *values) {
      if (!value.type().tensor_type().has_shape()) continue;
      for (auto& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
        if (dim.has_dim_value() && dim.dim_value() < 0) dim.clear_dim_value();
    }
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) forget_negative_sizes(*attribute.mutable_g());
      for (auto& body : *attribute.mutable_graphs()) forget_negative_sizes(body);
    }
}

void add_tensor_type(::onnx::TypeProto& type, int data_type, const auto& dims) {
  auto& tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(data_type);
  tensor.mutable_shape();
  for (const auto dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

// False: inference fails, and adds nothing.
bool add_types(::onnx::ModelProto& model) {
  forget_negative_sizes(*model.mutable_graph());
  return onnx::infer_types(model, !has_long_vector(model.graph()));
}

}  // namespace

void infer_strictly(::onnx::ModelProto& model) {
  forget_negative_sizes(*model.mutable_graph());
  ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(),
                                       ::onnx::ShapeInferenceOptions(true, 1, false));
}

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
  // Runtimes take inputs and outputs without a shape, and compatcheck writes such outputs (CC017).
  for (auto* values : {copy.mutable_graph()->mutable_input(), copy.mutable_graph()->mutable_output()})
    for (auto& value : *values)
      if (value.type().has_tensor_type()) value.mutable_type()->mutable_tensor_type()->mutable_shape();
  try {
    ::onnx::checker::check_model(copy);
  } catch (const std::exception& error) {
    throw ModelError(std::string("isn't valid ONNX: ") + error.what());
  }
}

ValueTypes::ValueTypes(const ::onnx::ModelProto& model) : model_(model) { note(model.graph()); }

void ValueTypes::note(const ::onnx::GraphProto& graph) {
  Types& types = types_[&graph];
  for (const auto& tensor : graph.initializer()) add_tensor_type(types[tensor.name()], tensor.data_type(), tensor.dims());
  for (const auto& tensor : graph.sparse_initializer())
    add_tensor_type(types[tensor.values().name()], tensor.values().data_type(), tensor.dims());
  for (const auto* values : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const auto& value : *values)
      if (value.has_type()) types[value.name()] = value.type();
  for (const auto& node : graph.node()) for_each_body(node, [&](const ::onnx::GraphProto& body) { note(body); });
}

const ::onnx::TypeProto* ValueTypes::find(const ::onnx::GraphProto& graph, const std::string& value) {
  Types& types = types_.at(&graph);
  const auto whole = [&] {
    const auto found = types.find(value);
    return found != types.end() && is_whole(found->second);
  };
  if (!whole() && !std::exchange(inferred_, true)) infer();
  const auto found = types.find(value);
  return found == types.end() ? nullptr : &found->second;
}

void ValueTypes::infer() {
  if (Calls(model_).count(model_.graph().node()) > most_calls) return;
  ::onnx::ModelProto inferred = model_;
  if (!add_types(inferred)) return;  // the checker reports what is wrong
  merge(model_.graph(), inferred.graph());
}

void ValueTypes::merge(const ::onnx::GraphProto& graph, const ::onnx::GraphProto& inferred) {
  Types& types = types_[&graph];
  for (const auto* values : {&inferred.value_info(), &inferred.output()})
    for (const auto& value : *values)
      if (auto& known = types[value.name()]; value.has_type() && !is_whole(known)) known = value.type();
  std::vector<const ::onnx::GraphProto*> bodies, inferred_bodies;  // same number of each: inference only adds types
  for (const auto& node : graph.node()) for_each_body(node, [&](const ::onnx::GraphProto& body) { bodies.push_back(&body); });
  for (const auto& node : inferred.node())
    for_each_body(node, [&](const ::onnx::GraphProto& body) { inferred_bodies.push_back(&body); });
  for (std::size_t i = 0; i < std::min(bodies.size(), inferred_bodies.size()); ++i) merge(*bodies[i], *inferred_bodies[i]);
}

::onnx::ModelProto with_types(const ::onnx::ModelProto& model) {
  ::onnx::ModelProto inferred = model;
  if (Calls(model).count(model.graph().node()) > most_calls) return inferred;
  add_types(inferred);
  return inferred;
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

}  // namespace compatcheck::onnx_file
