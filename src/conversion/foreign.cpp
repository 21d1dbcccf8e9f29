#include "conversion/foreign.h"

#include <algorithm>
#include <cmath>

#include "compatcheck/error.h"
#include "conversion/calls.h"
#include "conversion/fact_rules.h"
#include "conversion/foreign_values.h"
#include "conversion/interface.h"
#include "mapping/table.h"
#include "passes/functional_form.h"
#include "passes/unfollowed.h"
#include "schema/traits.h"

namespace compatcheck::conversion {
namespace {

using handlers::Operand;
using onnx::NodeAttribute;
using onnx::Refusal;
using onnx::Value;
using onnx::Values;

// The operator to name: for one that writes in place, the one that returns the same result.
struct Named {
  std::string op, overload;
  std::vector<const ir::Value*> arguments;
  bool keeps_dtype = false;  // the result has the first argument's dtype, whatever the operator itself returns
};

bool takes_the_same(const schema::Schema& a, const schema::Schema& b) {
  return std::ranges::equal(a.arguments, b.arguments,
                            [](const auto& one, const auto& other) { return ir::same_structure(*one.type, *other.type); });
}

Named without_writes(const ir::Node& node, const schema::Registry& schemas) {
  Named named{node.op(), node.overload(), {node.inputs().begin(), node.inputs().end()}, passes::keeps_first_dtype(node)};
  const schema::Schema* schema = node.schema();
  if (!schema || !schema->writes()) return named;
  const Refusal no_form{node.op() + " writes to its argument, and no operator gives what it would leave"};
  if (schema->is_out()) {
    const auto overload = mapping::functional_overload(node.op(), node.overload(), schemas);
    if (!overload) throw no_form;
    named.overload = *overload;
    named.arguments.clear();
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      if (!schema->arguments[i].written) named.arguments.push_back(node.input(i));
    return named;
  }
  const auto form = schemas.functional_form(node.op());
  const schema::Schema* pure = form ? schemas.find(*form, node.overload()) : nullptr;
  if (!pure || pure->writes() || !takes_the_same(*schema, *pure)) throw no_form;
  named.op = *form;
  named.keeps_dtype = true;
  return named;
}

std::string base_name(const std::string& op) { return op.substr(op.rfind("::") == std::string::npos ? 0 : op.rfind("::") + 2); }

std::vector<NodeAttribute> attributes_of(const ir::Node& node, const Named& named, bool wrapped) {
  std::vector<NodeAttribute> attributes;
  if (wrapped) {
    attributes.push_back({"operator", base_name(named.op)});
    attributes.push_back({"overload_name", named.overload});
    return attributes;
  }
  // A Python function is named by its own attribute, pyname.
  if (!named.overload.empty() && named.op != "prim::PythonOp") attributes.push_back({"overload_name", named.overload});
  for (const ir::Attribute& attribute : node.attributes()) {
    if (attribute.name == "inplace" || !is_carried(node, attribute)) continue;  // the first is a mark of ours
    auto value = attribute_of(attribute.value);
    if (!value) throw Refusal{"its attribute `" + attribute.name + "` is what no attribute in ONNX holds"};
    attributes.push_back({attribute.name, *std::move(value)});
  }
  return attributes;
}

// A call that PyTorch would refuse stays refused, whatever would run it.
void demand_possible(const ir::Node& node, const Context& context) {
  for (const ir::Value* output : node.outputs())
    if (const std::string& reason = context.facts.of(output).impossible; !reason.empty())
      throw Refusal{(users_facts(node.op(), node.overload(), context.table) ? "the facts in its row don't fit: "
                                                                            : "PyTorch refuses this call: ") +
                    reason};
  if (!node.schema() && node.op().starts_with("aten::") && context.schemas.contains(node.op()))
    throw Refusal{"the arguments fit no overload of " + node.op()};
  if (!node.blocks().empty()) throw Refusal{node.op() + " has blocks of nodes"};
  // The name is that of an in-place operator: without a schema it may be a write, which would be lost.
  if (node.op().ends_with("_") && !node.op().ends_with("__") &&
      (!node.schema() || (context.program && states_schema_of(context.program->stub_schemas, node.op()))))
    throw Refusal{"it may write to its arguments, because no schema of it is stated",
                  "state it in a mapping file (`schema:`), or give the library that registers it (--op-library)"};
}

}  // namespace

bool is_carried(const ir::Node& node, const ir::Attribute& attribute) {
  if (attribute.name == passes::state_obstacle || attribute.name == passes::unfollowed_mark) return false;  // marks of ours
  return !node.is("prim::PythonOp") || (attribute.name != "Subgraph" && (attribute.name != "scalars" || !node.schema()));
}

std::string domain_of(const ir::Node& node) {
  const std::string space = node.op().substr(0, node.op().find("::"));
  return space == "aten" || space == "prim" ? "org.pytorch." + space : space;
}

std::string foreign_name(const ir::Node& node, ExportType type) {
  const bool wrapped = type == ExportType::onnx_aten || type == ExportType::onnx_aten_fallback;
  return domain_of(node) + "::" + (wrapped ? "ATen" : base_name(node.op()));
}

bool may_be_foreign(const ir::Node& node, ExportType type) {
  switch (type) {
    case ExportType::onnx: return false;
    case ExportType::onnx_aten:
    case ExportType::onnx_aten_fallback: return node.op().starts_with("aten::");
    case ExportType::onnx_fallthrough:
    case ExportType::raw: return true;
  }
  return false;
}

std::vector<Operand> write_foreign(const ir::Node& node, const Context& context, onnx::Builder& builder,
                                   const OperandOf& operand_of) {
  demand_possible(node, context);
  const Named named = without_writes(node, context.schemas);
  Values inputs;
  for (const ir::Value* argument : named.arguments)
    inputs.push_back(foreign_input(operand_of(argument), argument->type(), builder));
  std::vector<std::optional<onnx::ValueInfo>> types;
  for (const ir::Value* output : node.outputs()) types.push_back(foreign_output(context.facts.of(output), *output));
  const bool keeps_dtype = named.keeps_dtype && types.size() == 1 && types.front();
  if (keeps_dtype && types.front()->untyped) throw Refusal{"the dtype that an operator in place keeps isn't known"};
  const std::optional<onnx::ValueInfo> kept = keeps_dtype ? types.front() : std::nullopt;
  if (kept) types.front()->untyped = true;
  const bool wrapped =
      foreign_name(node, context.export_type).ends_with("::ATen") && context.export_type != ExportType::onnx_fallthrough;
  const std::string op = wrapped ? foreign_name(node, context.export_type) : domain_of(node) + "::" + base_name(named.op);
  Values made = builder.foreign(op, inputs, attributes_of(node, named, wrapped), std::move(types));
  if (kept) made.front() = builder.node("Cast", {made.front()}, {{"to", std::int64_t{onnx::data_type(kept->dtype)}}});
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < made.size(); ++i)
    operands.push_back(foreign_result(context.facts.of(node.output(i)), *node.output(i), made[i], builder));
  return operands;
}

// A parameter that graph text names and doesn't hold, an object: nothing stands for it.
void demand_made(const ir::Value& value, const Context& context) {
  static constexpr std::string_view hands_on[] = {"prim::ListUnpack", "prim::TupleUnpack", "prim::TupleIndex", "prim::If",
                                                  "prim::Loop"};
  const ir::Node* maker = value.producer();
  if (maker && context.table.find_structural(maker->op()) && !schema::has_trait(maker->op(), schema::Trait::same_tensor) &&
      std::ranges::find(hands_on, maker->op()) == std::end(hands_on))
    throw Refusal{"what " + maker->op() + " gives isn't known while converting"};
}

Operand open_operand(const ir::Value& value, const Context& context, onnx::Builder& builder) {
  demand_made(value, context);
  const symbolic::Fact& fact = context.facts.of(&value);
  const auto type = foreign_output(fact, value);
  return foreign_result(
      fact, value,
      type ? Value{builder.model().add_value(*type), type->dtype, type->kind == onnx::ValueInfo::Kind::sequence} : Value{},
      builder);
}

// ---- Attributes

namespace {

bool is_float(double number) { return std::isnan(number) || static_cast<double>(static_cast<float>(number)) == number; }

// An attribute's floats have 32 bits: others go as a tensor.
onnx::AttributeValue floats(std::vector<double> numbers, bool single) {
  if (!std::ranges::all_of(numbers, is_float))
    return onnx::make_tensor(
        ir::DType::f64, single ? std::vector<std::int64_t>{} : std::vector{static_cast<std::int64_t>(numbers.size())}, numbers);
  if (single) return numbers.front();
  return numbers;
}

std::optional<onnx::AttributeValue> list_attribute(const ir::ListConstant& list) {
  std::vector<std::int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::string> words;
  for (const ir::Constant& item : list.items) {
    if (const auto* integer = item.get<std::int64_t>())
      ints.push_back(*integer);
    else if (const auto* boolean = item.get<bool>())
      ints.push_back(*boolean);
    else if (const auto* floating = item.get<double>())
      doubles.push_back(*floating);
    else if (const auto* word = item.get<std::string>())
      words.push_back(*word);
  }
  if (ints.size() == list.items.size() &&
      (!ints.empty() || ir::is(list.element, ir::TypeKind::integer) || ir::is(list.element, ir::TypeKind::boolean)))
    return ints;
  if (doubles.size() == list.items.size() && (!doubles.empty() || ir::is(list.element, ir::TypeKind::floating)))
    return floats(std::move(doubles), false);
  if (words.size() == list.items.size() && (!words.empty() || ir::is(list.element, ir::TypeKind::string))) return words;
  return std::nullopt;
}

}  // namespace

std::optional<onnx::AttributeValue> attribute_of(const ir::Constant& constant) {
  if (const auto* integer = constant.get<std::int64_t>()) return *integer;
  if (const auto* boolean = constant.get<bool>()) return std::int64_t{*boolean};
  if (const auto* floating = constant.get<double>()) return floats({*floating}, true);
  if (const auto* text = constant.get<std::string>()) return *text;
  if (const auto* device = constant.get<ir::DeviceConstant>()) return device->device;
  if (const auto* list = constant.get<ir::ListConstant>()) return list_attribute(*list);
  return std::nullopt;
}

}  // namespace compatcheck::conversion
