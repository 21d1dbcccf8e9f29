// Operators on scalars, strings, lists and dicts, as TorchScript's interpreter computes them. Nothing here touches
// tensors' contents.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "ir/graph.h"

namespace compatcheck::passes {

using Arguments = std::span<const ir::Constant* const>;
using Evaluated = std::optional<ir::Constant>;
using Evaluator = Evaluated (*)(const ir::Node& node, Arguments arguments);
using Evaluators = std::unordered_map<std::string_view, Evaluator>;

// The node's only output for these arguments; nullopt if the operator isn't one of these, or would raise.
Evaluated evaluate(const ir::Node& node, Arguments arguments);

// Whether evaluate() may know the operator; cheap.
bool can_evaluate(const ir::Node& node);

inline const std::int64_t* as_int(const ir::Constant& constant) { return constant.get<std::int64_t>(); }

const Evaluators& number_evaluators();
const Evaluators& list_evaluators();
const Evaluators& string_evaluators();
const Evaluators& property_evaluators();  // sizes, dtypes, types, identity

// Deep equality of numbers, strings and lists as `==` has it (1 == 1.0); nullopt for tensors and objects.
std::optional<bool> values_equal(const ir::Constant& a, const ir::Constant& b);

}  // namespace compatcheck::passes
