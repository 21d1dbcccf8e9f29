// ONNX's operator schemas of every version, as static data made from the linked onnx at build time: onnx's
// own registry takes 20 ms to come up.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace compatcheck::onnx {

// Numbered as AttributeProto.AttributeType.
enum class AttributeType : std::uint8_t {
  undefined,
  floating,
  integer,
  string,
  tensor,
  graph,
  floats,
  integers,
  strings,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types,
};
std::string_view name(AttributeType type);  // "FLOAT", "INTS" …

struct Attribute {
  std::string_view name;
  AttributeType type = AttributeType::undefined;
  bool required = false;
  std::optional<std::string_view> default_value;  // as text: 0, 1e-05, [1, 1], "constant" with its quotes
};

struct Formal {
  enum class Option : std::uint8_t { single, optional, variadic };
  std::string_view name;
  Option option = Option::single;
  std::string_view type;                    // "T", a type parameter, or a type
  std::span<const std::string_view> types;  // the allowed types: "tensor(float)", "seq(tensor(int64))" …

  bool accepts(ir::DType dtype) const;  // whether `dtype` is allowed as a tensor's element type
};

inline constexpr int any_number = std::numeric_limits<int>::max();

struct Schema {
  std::string_view domain, name;  // "" is ONNX's own domain
  int since = 0;
  bool deprecated = false;
  int min_inputs = 0, max_inputs = 0;  // any_number: variadic
  int min_outputs = 0, max_outputs = 0;
  std::span<const Attribute> attributes;  // sorted by name
  std::span<const Formal> inputs, outputs;

  const Attribute* attribute(std::string_view attribute) const;  // null if there is none
  std::optional<std::size_t> input_index(std::string_view input) const;
};

// The version in force at the opset, deprecated ones included; null if there is none.
const Schema* find(std::string_view op, int opset, std::string_view domain = {});
std::span<const Schema> versions(std::string_view op, std::string_view domain = {});  // ascending
std::span<const Schema> all_schemas();                                                // sorted by domain, name, version
std::vector<std::string_view> operator_names(std::string_view domain = {});           // sorted
bool is_onnx_domain(std::string_view domain);                                         // whether onnx ships schemas for it
bool is_own_domain(std::string_view domain);                                          // "", "ai.onnx"

// "tensor(float)" for f32; empty for a dtype that ONNX lacks.
std::string_view tensor_type(ir::DType dtype);

}  // namespace compatcheck::onnx
