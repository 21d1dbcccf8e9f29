#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

constexpr auto tables = {number_evaluators, list_evaluators, string_evaluators, property_evaluators};

// `aten::div(int, int) -> float` and mixed arguments: the output's type says what a number is.
ir::Constant as_type(ir::Constant value, const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::floating))
    if (const auto* number = value.get<std::int64_t>()) return {static_cast<double>(*number)};
  return value;
}

}  // namespace

bool can_evaluate(const ir::Node& node) {
  if (node.outputs().size() != 1 || !node.blocks().empty()) return false;
  for (const auto table : tables)
    if (table().contains(node.op())) return true;
  return false;
}

std::optional<ir::Constant> evaluate(const ir::Node& node, Arguments arguments) {
  for (const auto table : tables)
    if (const auto at = table().find(node.op()); at != table().end())
      if (auto result = at->second(node, arguments)) return as_type(std::move(*result), node.output()->type());
  return std::nullopt;
}

}  // namespace compatcheck::passes
