// The inputs and outputs of the ONNX model, for the conversion and its dry run.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "conversion/attempt.h"
#include "conversion/context.h"
#include "handlers/operand.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

// Null where the fact doesn't tell the rank.
std::optional<std::vector<onnx::Dimension>> shape_of(const symbolic::Fact& fact);

// Declares each of the graph's inputs as inputs of the model. An input that nothing reads is omitted if ONNX has no tensors
// for it or too little is known. Throws Refusal and Wanting.
std::unordered_map<const ir::Value*, handlers::Operand> declare_inputs(const ir::Graph& graph, const Context& context,
                                                                       onnx::Builder& builder);

// A state's size after the call can't be that before it: an input of this size takes the first call's value alone.
bool changes_size(const symbolic::Dim& before, const symbolic::Dim& after);

struct Output {
  std::string name;
  onnx::Value value;
  std::optional<std::vector<onnx::Dimension>> shape;  // null for sequences
  std::string quantized{};          // type that the values stand for: "qu8(0.5,128)"; empty: not quantized, or not known
  const ir::Value* open = nullptr;  // the graph's output of which it is a part, if only the running model knows its rank
};

// Returns a name that isn't among `names`, and adds it to them.
std::string unique_name(const std::string& name, std::set<std::string>& names);

// As reports spell it: "f32[batch,3]".
std::string spell(const onnx::ValueInfo& value);

// `model` has its inputs already.
Interface interface_of(const onnx::Model& model, const std::vector<Output>& outputs);

// Names one of the graph's outputs after the module that makes it; `otherwise` if that is the root.
std::string output_name(const ir::Value& value, const std::string& otherwise);

// The first output, or member of a tuple, that is a text, which is refused in any case. Null if there is none.
std::optional<std::string> text_output(const ir::Graph& graph);

// The tensors that the graph gives, what lists, tuples and dictionaries hold one by one. Throws Refusal and Wanting.
using OperandOf = std::function<const handlers::Operand&(const ir::Value*)>;
std::vector<Output> collect_outputs(const ir::Graph& graph, const Context& context, onnx::Builder& builder,
                                    const OperandOf& operand_of);

}  // namespace compatcheck::conversion
