// Facts that a user's row states for a call, compared with what else is known of its results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conversion/context.h"
#include "conversion/lower.h"

namespace compatcheck::conversion {

struct Contradiction {
  const ir::Node* node = nullptr;
  std::string reason;
  bool of_shape = false;  // otherwise of the dtype
};

// With the types that the model's file records, and with the facts of PyTorch's own operators.
std::optional<Contradiction> contradicted_facts(const symbolic::Call& call, const Context& context);

// With the shapes that ONNX's inference finds for the nodes of the row.
std::optional<Contradiction> contradicted_by_nodes(const ir::Graph& graph, const Context& context, const onnx::Model& model,
                                                   const std::vector<Stand>& stands);

}  // namespace compatcheck::conversion
