// The arguments and results of operators that aren't ONNX's: one ONNX value for each.
#pragma once

#include <optional>

#include "handlers/operand.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

// Absent for None. A number has no dimensions, a list of numbers has one; a list of tensors is a sequence, or, if ONNX has no
// sequence of its members (None among them, several dtypes, opsets below 11), the result of org.pytorch.prim::ListConstruct.
// Throws Refusal for a value that ONNX doesn't have.
onnx::Value foreign_input(const handlers::Operand& operand, const ir::TypeRef& type, onnx::Builder& builder);

// Has the shape of the fact; untyped if the dtype is unknown. Throws Refusal for a dtype that ONNX lacks.
onnx::ValueInfo tensor_type(const symbolic::Fact& fact);
onnx::ValueInfo number_type(const symbolic::NumberFact& fact);
// The type, as far as it is known; null if no value is needed: for None and known values. Throws Refusal for a value that ONNX
// doesn't have.
std::optional<onnx::ValueInfo> foreign_output(const symbolic::Fact& fact, const ir::Value& value);
// Returns the operand that `made` stands for, in the form of the fact.
handlers::Operand foreign_result(const symbolic::Fact& fact, const ir::Value& value, const onnx::Value& made,
                                 onnx::Builder& builder);

}  // namespace compatcheck::conversion
