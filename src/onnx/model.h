// An ONNX model while it is made: values by number, weights as places in the model file that they come from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/constant.h"
#include "ir/dtype.h"

namespace compatcheck::ir {
class Node;
}

namespace compatcheck::onnx {

class FunctionText;

using ValueId = std::uint32_t;
inline constexpr ValueId absent = 0;  // an optional input that isn't given, an output that nobody reads

// A tensor as ONNX stores it: row-major, little-endian.
struct TensorData {
  ir::DType dtype = ir::DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> bytes;  // the elements, unless `view`
  // Elements where they lie in the file, perhaps strided; of another dtype than `dtype` they are cast as they are written.
  std::optional<ir::TensorView> view{};
  // The factors of the parts along the first dimension, by which their elements are multiplied as they are written; empty for 1.
  std::vector<double> factors{};

  std::int64_t elements() const;
};

// Null or number if it is known, else a name; empty: unknown.
struct Dimension {
  std::optional<std::int64_t> size;
  std::string name;
};

struct ValueInfo {
  enum class Kind : std::uint8_t { tensor, sequence };
  Kind kind = Kind::tensor;
  bool optional = false;             // may be without a value
  ir::DType dtype = ir::DType::f32;  // a sequence has the dtype of its tensors
  bool untyped = false;              // its dtype isn't stated: it comes from an operator that isn't ONNX's
  bool stated = false;               // the type is written although the value stays inside: nothing else tells it
  std::optional<std::vector<Dimension>> shape;
  std::string name;  // empty: named when the model is finished
};

// A string as a tensor without dimensions.
struct TextData {
  std::string text;
};

// The type of a tensor, or of a sequence of tensors.
struct TypeData {
  ir::DType dtype = ir::DType::f32;
  bool sequence = false;
};

struct Graph;
using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                    std::vector<std::string>, TensorData, std::shared_ptr<Graph>, TextData, TypeData>;
struct NodeAttribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string op, domain;
  std::vector<ValueId> inputs, outputs;
  std::vector<NodeAttribute> attributes;
  std::string name;                  // empty: named when the model is finished
  const ir::Node* origin = nullptr;  // the call that it comes from

  const NodeAttribute* attribute(std::string_view name) const;  // null if there is none
};

// The model's, or the body of an If or Loop, which sees the values of the graphs around it.
struct Graph {
  std::vector<Node> nodes;  // topologically sorted
  std::vector<ValueId> inputs, outputs;
};

struct Initializer {
  ValueId value = absent;
  TensorData data;
};

struct Model {
  int opset = 0;
  std::vector<std::pair<std::string, int>> domains;            // domains other than ONNX's own
  std::map<std::string, int, std::less<>> versions;            // of domains except ONNX's own, used or not; default 1
  std::vector<std::shared_ptr<const FunctionText>> functions;  // the functions that nodes call
  bool compact = false;                                        // --prefer compact
  bool inline_functions = false;                               // replace calls of functions by the nodes of their bodies
  std::vector<ValueInfo> values{ValueInfo{}};                  // indexed by ValueId; the first stands for `absent`
  Graph graph;
  std::vector<Initializer> initializers;
  std::string producer_version;
  std::vector<ValueId> pairs;  // inputs that stand for complex tensors, with real and imaginary parts in the last dimension
  // Inputs, and places among the outputs, that stand for quantized tensors, with what those are: "qu8(0.5,128)".
  std::vector<std::pair<ValueId, std::string>> quantized_inputs;
  std::vector<std::pair<std::size_t, std::string>> quantized_outputs;
  std::unordered_map<ValueId, ValueId> replaced;  // values that clean-up removed, and the equal value that is left

  ValueId left_of(ValueId value) const;  // the value itself, if nothing replaced it

  ValueId add_value(ValueInfo info);
  int version_of(std::string_view domain) const;  // the opset for ONNX's own domain
};

// Visits a graph's nodes and those of the bodies inside them, in order.
template <class GraphType, class Visit>
void for_each_node(GraphType& graph, Visit&& visit) {
  for (auto& node : graph.nodes) {
    visit(node);
    for (auto& attribute : node.attributes)
      if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) for_each_node(**body, visit);
  }
}

// TensorProto.DataType's number; 0 for a dtype that ONNX lacks.
int data_type(ir::DType dtype);
std::optional<ir::DType> dtype_from_data_type(std::int64_t number);

// A tensor of numbers known while converting, each cast to `dtype` as PyTorch casts.
TensorData make_tensor(ir::DType dtype, std::vector<std::int64_t> dims, const std::vector<double>& numbers);
TensorData make_tensor(ir::DType dtype, std::vector<std::int64_t> dims, const std::vector<std::int64_t>& numbers);
// The elements of a small tensor without a view; nullopt for others and for dtypes that aren't real numbers.
std::optional<std::vector<std::int64_t>> as_ints(const TensorData& data);
std::optional<std::vector<double>> as_floats(const TensorData& data);

}  // namespace compatcheck::onnx
