// Types of the values that a graph's nodes read, and the elements of small constants.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/dtype.h"
#include "onnx/domains.h"
#include "onnx_file/validity.h"

namespace compatcheck::retarget {

inline constexpr std::int64_t most_elements = 1 << 16;  // of a constant whose elements are read

// The elements as integers; nullopt for tensors of other types, and where they aren't in the message.
std::optional<std::vector<std::int64_t>> ints_of(const ::onnx::TensorProto& tensor);
std::optional<std::vector<double>> floats_of(const ::onnx::TensorProto& tensor);
std::int64_t elements_of(const ::onnx::TensorProto& tensor);
::onnx::TensorProto floats_tensor(const std::vector<float>& values);
::onnx::TensorProto ints_tensor(const std::vector<std::int64_t>& values, bool scalar = false);

inline constexpr int most_identities = 1000;  // one behind the other, through which a constant is read

inline bool is_own(const ::onnx::NodeProto& node, std::string_view op) {
  return node.op_type() == op && onnx::is_own_domain(node.domain());
}
const ::onnx::AttributeProto* attribute_of(const ::onnx::NodeProto& node, std::string_view name);  // null if there is none
std::int64_t int_of(const ::onnx::NodeProto& node, std::string_view name, std::int64_t otherwise);
double float_of(const ::onnx::NodeProto& node, std::string_view name, double otherwise);
std::string string_of(const ::onnx::NodeProto& node, std::string_view name, std::string otherwise);
// The axis counted from the front. Throws onnx::Refusal for one that the rank doesn't have.
std::int64_t axis_of(std::int64_t axis, std::int64_t rank);
// The name of an input; empty if it is absent.
const std::string& input_of(const ::onnx::NodeProto& node, int index);

class Scope {
 public:
  // All must outlive it. `defaults_count`: initializers that are inputs are constants, as before IR version 4.
  Scope(const ::onnx::GraphProto& graph, onnx_file::ValueTypes& types, const Scope* around, bool defaults_count);

  const ::onnx::TypeProto* type(const std::string& value) const;     // null if it isn't known
  std::optional<ir::DType> dtype(const std::string& value) const;    // of a tensor
  std::optional<std::int64_t> rank(const std::string& value) const;  // of a tensor
  std::optional<std::vector<std::optional<std::int64_t>>> sizes(const std::string& value) const;
  // The same in every run, and small; null for other values.
  const ::onnx::TensorProto* constant(const std::string& value) const;
  std::optional<std::vector<std::int64_t>> ints(const std::string& value) const;
  // A weight of any size; null for other values.
  const ::onnx::TensorProto* initializer(const std::string& value) const;

 private:
  const Scope* find(const std::string& value) const;  // the scope that gives the value
  const ::onnx::TensorProto* made_by(const ::onnx::NodeProto& node) const;

  const ::onnx::GraphProto& graph_;
  onnx_file::ValueTypes& types_;
  const Scope* around_;
  std::unordered_set<std::string> given_;  // inputs that a caller sets
  std::unordered_map<std::string, const ::onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, const ::onnx::NodeProto*> producers_;
  mutable std::deque<::onnx::TensorProto> made_;  // of Constant nodes with numbers
  mutable std::unordered_map<const ::onnx::NodeProto*, const ::onnx::TensorProto*> made_by_;
};

}  // namespace compatcheck::retarget
