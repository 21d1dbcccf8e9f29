// Quantized modules keep their weights in custom classes that hold them packed for one engine. Here they are never
// packed: the object keeps the state it was saved with, or the arguments of its `*_prepack` call.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/native/definitions.h"
#include "frontend/native/packed_parameters.h"

namespace compatcheck::frontend::torchscript {

// Classes that libtorch registers: "__torch__.torch.classes.quantized.Conv2dPackedParamsBase".
bool is_packed_parameters(const c10::ClassType& type);
// Classes that nobody registered: loaded by a stand-in without attributes.
bool is_opaque_class(const c10::ClassType& type);
using native::custom_class_prefix;

// An object of such a class as the file has it.
c10::IValue packed_from_state(const c10::StrongTypePtr& type, c10::IValue state);
// Returns the result of `quantized::conv2d_prepack` and similar operators; nullopt for any other operator.
std::optional<c10::IValue> packed_from_call(const std::string& op, const std::vector<c10::IValue>& arguments);

// Where such an object comes from, and what it holds.
struct PackedContent {
  std::string op;  // quantized::conv2d_prepack; empty: a saved state
  c10::IValue held;
};
PackedContent content_of(const c10::ivalue::Object& object);

}  // namespace compatcheck::frontend::torchscript
