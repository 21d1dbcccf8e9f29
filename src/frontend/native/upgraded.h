// Operators whose meaning changed with the version of PyTorch's file format, as today's operators.
// Source: torch/csrc/jit/operator_upgraders/upgraders_entry.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/native/calls.h"

namespace compatcheck::frontend::native {

// Adds the arguments that were optional then: linspace() had a hundred steps.
void complete(std::string_view op, std::uint64_t version, Arguments& given, GraphBuilder& builder);

// Returns the call's result in a file of that version; nullopt where the operator still computes the same.
std::optional<Typed> upgrade(const Matched& call, std::uint64_t version, GraphBuilder& builder);

}  // namespace compatcheck::frontend::native
