// Quantized modules keep their weights in custom classes that hold them packed for one engine. Here they are never
// packed: the object keeps the state it was saved with, or the arguments of its `*_prepack` call.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/torchscript/types.h"
#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

// Classes that libtorch registers: "__torch__.torch.classes.quantized.Conv2dPackedParamsBase".
bool is_packed_parameters(const c10::ClassType& type);
// Classes that nobody registered: loaded by a stand-in without attributes.
bool is_opaque_class(const c10::ClassType& type);
inline constexpr std::string_view custom_class_prefix = "__torch__.torch.classes.";

// An object of such a class as the file has it.
c10::IValue packed_from_state(const c10::StrongTypePtr& type, c10::IValue state);
// What `quantized::conv2d_prepack` and its like would have made; nullopt for any other operator.
std::optional<c10::IValue> packed_from_call(const std::string& op, const std::vector<c10::IValue>& arguments);

// The parts by name: weight, bias, stride, padding, output_padding, dilation, groups, transpose for convolutions; weight,
// bias for linear layers; else the state as it is.
struct PackedParameters {
  std::vector<std::string> names;
  std::vector<c10::IValue> values;
};
PackedParameters unpack(const c10::ivalue::Object& object);
void describe_class(const PackedParameters& packed, ir::Class& made, const std::string& name, Types& types);

}  // namespace compatcheck::frontend::torchscript
