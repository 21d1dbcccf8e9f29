// Rows to start from, for operators without a mapping: findings advise them, ready to paste.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "onnx/schema.h"
#include "schema/schema.h"

namespace compatcheck::analysis {

// The ONNX operator with the name of the ATen operator ("aten::elu" → Elu) that can represent calls of the schema at the opset;
// null if there is none. It need not compute the same.
const onnx::Schema* counterpart(std::string_view op, const schema::Schema& schema, int opset, const schema::Registry& schemas);

// The call's own schema, or one after its arguments: "acme::pair(Tensor arg0, float arg1) -> (Tensor, Tensor)".
schema::Schema schema_of_call(const ir::Node& node);

struct RowToAdd {
  bool state_schema = false;           // the row must state the schema, which is unknown otherwise
  bool state_facts = false;            // the row must state the word for its facts, too
  bool name_overload = false;          // other overloads have other arguments
  bool complex = false;                // the call has complex tensors
  const onnx::Schema* onnx = nullptr;  // ONNX operator of the row; null: a node of the user's own domain
  std::optional<int> inlined{};        // instead of `onnx`: a row of ONNX text, from this opset on
};

// One line: "acme::fused: {facts: same, 7: {to: your.domain::fused, inputs: [x], attributes: {alpha: {float: alpha}}}}".
std::string row_to_add(const schema::Schema& schema, const RowToAdd& how);

// A row's entries for the arguments as YAML, one for each: "x", "alpha: {float: alpha}", "scale: 1".
struct Bindings {
  std::vector<std::string> inputs, attributes, conditions;

  std::string text() const;  // "inputs: [x], attributes: {alpha: {float: alpha}}, when: {scale: 1}"
};
Bindings bindings_of(const schema::Schema& schema,
                     const onnx::Schema* onnx = nullptr);  // every argument; null: for a node of the user's own domain
// The type of an argument in a row and in a plugin: "float", "ints"; empty for tensors and types that neither can hold.
std::string_view kind_of(const schema::Argument& argument);
bool is_tensor(const schema::Argument& argument);  // a tensor, a list of them, or an optional one
// The placeholder for the word, or the operators of ONNX text, that only the user knows: lint reports it.
inline constexpr std::string_view facts_to_fill = "TODO";
// An ONNX function to fill in: "fused <alpha> (x, y) => (result) { result = TODO (x, y) }".
std::string text_to_fill(const std::string& name, const schema::Schema& schema, std::string_view operators = facts_to_fill);
// A word for the facts that may be right, a list of them for several results; empty where no word can be.
std::string facts_word_for(const schema::Schema& schema);

}  // namespace compatcheck::analysis
