// Quantized modules keep their weights in custom classes that hold them packed for one engine. Here they are never packed: the
// object keeps the parts it was saved with, or the arguments of its `*_prepack` call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::frontend::native {

// Classes that libtorch registers: "__torch__.torch.classes.quantized.Conv2dPackedParamsBase". Others' objects are opaque.
bool is_packed_parameters(std::string_view class_name);

// Returns the result type of a method of such a class; null if it has no such method.
ir::TypeRef method_of_packed(std::string_view class_name, std::string_view method);

// The parts keyed by name: weight, bias, stride, padding, output_padding, dilation, groups, transpose for convolutions; weight,
// bias for linear layers; otherwise the state itself.
struct PackedParameters {
  std::string class_name;
  std::vector<std::string> names{};
  ir::Constants values{};
};

// The elements of a tensor of integers.
using ReadIntegers = std::function<std::vector<std::int64_t>(const ir::TensorView&)>;

// Reads a saved object's state. Throws ModelError for a damaged one.
PackedParameters packed_from_state(const std::string& class_name, const ir::Constant& state, const ReadIntegers& integers);
// The class of what `quantized::conv2d_prepack` and its like make; empty for any other operator.
std::string class_made_by(std::string_view op);
// Returns the parameters that such an operator would make; nullopt for any other.
std::optional<PackedParameters> packed_from_call(const std::string& op, const ir::Constants& arguments);

}  // namespace compatcheck::frontend::native
