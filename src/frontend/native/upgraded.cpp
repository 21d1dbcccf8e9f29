#include "frontend/native/upgraded.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;

Typed tensor_node(GraphBuilder& builder, const char* op, const char* overload, const std::vector<Typed>& inputs) {
  ir::Node* made = builder.add(op, inputs);
  made->set_overload(overload);
  return {made->add_output(ir::tensor_type()), ir::tensor_type()};
}

Typed bool_node(GraphBuilder& builder, const char* op, const Typed& of) {
  return builder.add(op, {of}, ir::simple_type(TypeKind::boolean));
}

// a or b
Typed either(GraphBuilder& builder, const Typed& a, const Typed& b) {
  ir::Node* made = builder.add("aten::__or__", {a, b});
  made->set_overload("bool");
  return {made->add_output(ir::simple_type(TypeKind::boolean)), ir::simple_type(TypeKind::boolean)};
}

Typed is_float(GraphBuilder& builder, const Typed& number) {
  if (number.type->kind == TypeKind::tensor) return bool_node(builder, "aten::is_floating_point", number);
  ir::Node* made = builder.add("prim::isinstance", {number});
  made->set_attribute("types", {ir::ListConstant{ir::simple_type(TypeKind::string), {{std::string("float")}}}});
  return {made->add_output(ir::simple_type(TypeKind::boolean)), ir::simple_type(TypeKind::boolean)};
}

// Returns the quotient of integers towards zero.
Typed old_quotient(const Matched& call, GraphBuilder& builder) {
  const schema::Schema& schema = *call.schema;
  const bool scalar = schema.overload == "Scalar", out = schema.overload == "out", in_place = schema.name.ends_with('_');
  Typed floating = either(builder, is_float(builder, call.inputs[0]), is_float(builder, call.inputs[1]));
  if (out) floating = either(builder, floating, is_float(builder, call.inputs[2]));
  ir::Node* chosen = builder.add("prim::If", {floating});
  const auto side = [&](bool truncates) {
    ir::Block* outside = builder.enter(chosen->add_block());
    std::vector<Typed> inputs{call.inputs[0], call.inputs[1]};
    if (truncates) inputs.push_back(builder.constant({std::string("trunc")}));
    if (out) inputs.push_back(call.inputs[2]);
    const char* op =
        truncates ? (in_place ? "aten::divide_" : "aten::divide") : (in_place ? "aten::true_divide_" : "aten::true_divide");
    const char* overload = truncates ? (out      ? "out_mode"
                                        : scalar ? "Scalar_mode"
                                                 : "Tensor_mode")
                                     : (out      ? "out"
                                        : scalar ? "Scalar"
                                                 : "Tensor");
    builder.block()->add_output(tensor_node(builder, op, overload, inputs).value);
    builder.enter(outside);
  };
  side(false);
  side(true);
  return {chosen->add_output(ir::tensor_type()), ir::tensor_type()};
}

// Without a dtype, of floats.
std::optional<Typed> old_full(const Matched& call, GraphBuilder& builder) {
  constexpr std::size_t value = 1, dtype = 2;
  const Typed& number = call.inputs[value];
  if (call.schema->overload == "out" || call.inputs[dtype].type->kind != TypeKind::none ||
      number.type->kind == TypeKind::floating)
    return std::nullopt;
  std::vector<Typed> inputs = call.inputs;
  inputs[value] = builder.add("aten::Float", {number}, ir::simple_type(TypeKind::floating));
  return tensor_node(builder, "aten::full", "", inputs);
}

}  // namespace

void complete(std::string_view op, std::uint64_t version, Arguments& given, GraphBuilder& builder) {
  constexpr std::size_t steps = 2;
  if (!(op == "aten::linspace" && version < 8) && !(op == "aten::logspace" && version < 9)) return;
  const auto named = std::ranges::find(given.keywords, "steps", &std::pair<std::string_view, Typed>::first);
  Typed* stated = given.positional.size() > steps ? &given.positional[steps]
                  : named != given.keywords.end() ? &named->second
                                                  : nullptr;
  if (stated && stated->type->kind != TypeKind::none) return;
  const Typed hundred = builder.constant({std::int64_t{100}});
  if (stated)
    *stated = hundred;
  else
    given.keywords.emplace_back("steps", hundred);
}

std::optional<Typed> upgrade(const Matched& call, std::uint64_t version, GraphBuilder& builder) {
  const std::string_view name = call.schema->name, overload = call.schema->overload;
  const bool quotient = name == "aten::div" || name == "aten::div_";
  if (quotient && version < 4 && (overload == "Tensor" || overload == "Scalar" || overload == "out"))
    return old_quotient(call, builder);
  if (name == "aten::full" && version < 5 && (overload.empty() || overload == "out")) return old_full(call, builder);
  return std::nullopt;
}

}  // namespace compatcheck::frontend::native
