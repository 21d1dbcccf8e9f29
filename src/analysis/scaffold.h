// Rows to start from, for operators that have no mapping: what a finding advises, ready to paste.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "onnx/schema.h"
#include "schema/schema.h"

namespace compatcheck::analysis {

// ONNX's operator of an ATen operator's name at the opset ("aten::elu" → Elu); null if there is none. It need not compute the same.
const onnx::Schema* counterpart(std::string_view op, int opset, const schema::Registry& schemas);

// The call's own schema, or one after its arguments: "acme::pair(Tensor arg0, float arg1) -> (Tensor, Tensor)".
schema::Schema schema_of_call(const ir::Node& node);

struct RowToAdd {
  bool state_schema = false;             // the row says the schema: nobody else does
  bool state_facts = false;              // and the word for its facts
  const onnx::Schema* onnx = nullptr;    // what the operator becomes; null: a node of the user's own domain
};

// One line: "acme::fused: {facts: same, 7: {to: your.domain::fused, inputs: [x], attributes: {alpha: {float: alpha}}}}".
std::string row_to_add(const schema::Schema& schema, const RowToAdd& how);

// "inputs: [x], attributes: {alpha: {float: alpha}}": every argument, tensors as inputs; empty if it takes none.
std::string bindings_of(const schema::Schema& schema);
// The word for the facts that is the best guess; empty where no word can be right.
std::string_view facts_word_for(const schema::Schema& schema);

}  // namespace compatcheck::analysis
