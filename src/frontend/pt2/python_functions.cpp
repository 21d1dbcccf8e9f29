#include "frontend/pt2/python_functions.h"

#include <algorithm>
#include <array>

#include "frontend/pt2/node_writer.h"

namespace compatcheck::frontend::pt2 {
namespace {

using enum ir::TypeKind;

enum class Result : std::uint8_t { widest, integer, floating, boolean };

struct Function {
  std::string_view target, op;
  std::size_t arguments;
  Result result;
};

constexpr auto functions = std::to_array<Function>({
    {"_operator.add", "aten::add", 2, Result::widest},
    {"_operator.sub", "aten::sub", 2, Result::widest},
    {"_operator.mul", "aten::mul", 2, Result::widest},
    {"_operator.floordiv", "aten::floordiv", 2, Result::widest},
    {"_operator.mod", "aten::remainder", 2, Result::widest},
    {"_operator.pow", "aten::pow", 2, Result::widest},
    {"_operator.truediv", "aten::div", 2, Result::floating},
    {"_operator.neg", "aten::neg", 1, Result::widest},
    {"_operator.eq", "aten::eq", 2, Result::boolean},
    {"_operator.ne", "aten::ne", 2, Result::boolean},
    {"_operator.lt", "aten::lt", 2, Result::boolean},
    {"_operator.le", "aten::le", 2, Result::boolean},
    {"_operator.gt", "aten::gt", 2, Result::boolean},
    {"_operator.ge", "aten::ge", 2, Result::boolean},
    {"_operator.and_", "aten::__and__", 2, Result::widest},
    {"_operator.or_", "aten::__or__", 2, Result::widest},
    {"_operator.lshift", "aten::__lshift__", 2, Result::integer},
    {"_operator.rshift", "aten::__rshift__", 2, Result::integer},
    {"_operator.not_", "aten::__not__", 1, Result::boolean},
    {"_operator.abs", "prim::abs", 1, Result::widest},
    {"torch.sym_not", "aten::__not__", 1, Result::boolean},
    {"torch.sym_max", "prim::max", 2, Result::widest},
    {"torch.sym_min", "prim::min", 2, Result::widest},
    {"torch.sym_int", "aten::Int", 1, Result::integer},
    {"math.trunc", "aten::Int", 1, Result::integer},
    {"torch.sym_float", "aten::Float", 1, Result::floating},
    {"math.ceil", "aten::ceil", 1, Result::integer},
    {"math.floor", "aten::floor", 1, Result::integer},
    {"math.sqrt", "aten::sqrt", 1, Result::floating},
    {"torch._sym_sqrt", "aten::sqrt", 1, Result::floating},
});

ir::TypeRef widest_of(std::span<ir::Value* const> arguments) {
  const auto has = [&](ir::TypeKind kind) {
    return std::ranges::any_of(arguments, [&](const ir::Value* each) { return ir::is(each->type(), kind); });
  };
  return ir::simple_type(has(ir::TypeKind::floating)  ? ir::TypeKind::floating
                         : has(ir::TypeKind::integer) ? ir::TypeKind::integer
                                                      : ir::TypeKind::boolean);
}

ir::TypeRef type_of(Result result, std::span<ir::Value* const> arguments) {
  switch (result) {
    case Result::integer: return ir::simple_type(ir::TypeKind::integer);
    case Result::floating: return ir::simple_type(ir::TypeKind::floating);
    case Result::boolean: return ir::simple_type(ir::TypeKind::boolean);
    case Result::widest: break;
  }
  return widest_of(arguments);
}

// b if condition, else c
ir::Value* choose(NodeWriter& nodes, std::span<ir::Value* const> arguments) {
  const ir::TypeRef type = widest_of(arguments.subspan(1));
  ir::Node* branch = nodes.add_node("prim::If", arguments.first(1), std::array{type});
  for (ir::Value* value : arguments.subspan(1)) branch->add_block()->add_output(value);
  return branch->output();
}

}  // namespace

ir::Value* python_function(NodeWriter& nodes, std::string_view target, std::span<ir::Value* const> arguments) {
  if (target == "torch.sym_ite" && arguments.size() == 3) return choose(nodes, arguments);
  const auto function = std::ranges::find(functions, target, &Function::target);
  if (function == functions.end() || function->arguments != arguments.size()) return nullptr;
  Values given(arguments.begin(), arguments.end());
  // TorchScript has no arithmetic of bools.
  if (function->result == Result::widest && !function->op.starts_with("aten::__"))
    for (ir::Value*& value : given)
      if (ir::is(value->type(), ir::TypeKind::boolean))
        value = nodes.add("aten::Int", {value}, ir::simple_type(ir::TypeKind::integer));
  ir::Value* result = nodes.add(std::string(function->op), given, type_of(function->result, given));
  // TorchScript's default overload gives a float.
  if (result->producer()->is("aten::pow") && ir::is(result->type(), ir::TypeKind::integer))
    result->producer()->set_overload("int_to_int");
  return result;
}

}  // namespace compatcheck::frontend::pt2
