// Calls as PyTorch's own operators, in a domain named after their namespace: what an export type other than `onnx` writes where a
// call doesn't become ONNX. The conversion and its dry run both come here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conversion/context.h"
#include "handlers/operand.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

// The attribute holds information that no argument has. This excludes a traced Function's plain arguments, which are inputs,
// and its results.
bool is_carried(const ir::Node& node, const ir::Attribute& attribute);

// "org.pytorch.aten" for aten, "org.pytorch.prim" for prim, else the namespace itself.
std::string domain_of(const ir::Node& node);
// "org.pytorch.aten::triu", or "org.pytorch.aten::ATen" where the export type wraps operators.
std::string foreign_name(const ir::Node& node, ExportType type);
// The export type writes operators of this namespace itself.
bool may_be_foreign(const ir::Node& node, ExportType type);

// Emits the node and returns the operand of each output. Arguments are inputs in the schema's order. Throws Refusal for a
// value that ONNX doesn't have.
using OperandOf = std::function<const handlers::Operand&(const ir::Value*)>;
std::vector<handlers::Operand> write_foreign(const ir::Node& node, const Context& context, onnx::Builder& builder,
                                             const OperandOf& operand_of);

// Returns the operand for a value on trial, whose dtype may be open.
handlers::Operand open_operand(const ir::Value& value, const Context& context, onnx::Builder& builder);

// As an attribute of a node; null for values that no attribute can hold: objects, dictionaries, tensors.
std::optional<onnx::AttributeValue> attribute_of(const ir::Constant& constant);

}  // namespace compatcheck::conversion
