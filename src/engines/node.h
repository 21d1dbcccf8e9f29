// A node of an ONNX model as engines look at it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "mapping/row.h"
#include "onnx/model.h"
#include "onnx/schema.h"

namespace compatcheck::engines {

struct Operand {
  bool given = false;                // an input that isn't absent, or an output that something reads
  std::optional<ir::DType> dtype{};  // for a sequence, its tensors' dtype; absent: not known
  std::string_view other_type{};     // set instead of `dtype` for a type that no tensor of PyTorch has: "string", "i4"
  bool sequence = false;
  std::optional<std::vector<onnx::Dimension>> shape{};
  bool constant = false;                          // whether the model contains its elements
  bool folds = false;                             // whether it is computed from constants alone
  std::optional<std::vector<double>> elements{};  // a small constant's elements
};

struct Attribute {
  std::string name;
  bool list = false;
  bool opaque = false;  // a tensor or graph
  std::vector<mapping::Literal> values{};
};

struct Node {
  std::string op, domain;
  int version = 0;                       // the operator's version; without a schema, its domain's
  const onnx::Schema* schema = nullptr;  // null: not an ONNX operator
  std::vector<Operand> inputs, outputs;
  std::vector<Attribute> attributes;
  // A model of this node alone, its inputs typed, with the functions that it may call.
  std::function<::onnx::ModelProto()> alone;

  std::string name() const { return onnx::is_own_domain(domain) ? op : domain + "::" + op; }
  const Attribute* attribute(std::string_view name) const;  // null if it isn't set
};

// The facts about a model's values beside their types.
struct Values {
  std::map<onnx::ValueId, const onnx::TensorData*> constants;  // initializers that are no inputs
  std::vector<bool> used, folds;                               // something reads it; it is made of constants alone
};
Values values_of(const onnx::Model& model);

Node node_of(const onnx::Node& node, const onnx::Model& model, const Values& values);

// The nodes of a model whose types were inferred, in order; bodies of If and Loop included. The inputs of a function's body are
// arguments; the constants of a file's graph are read.
enum class ModelIs : std::uint8_t { body_of_function, file };
std::vector<Node> nodes_of(const ::onnx::ModelProto& model, ModelIs what = ModelIs::body_of_function);

}  // namespace compatcheck::engines
