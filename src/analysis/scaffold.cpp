#include "analysis/scaffold.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "ir/number_text.h"
#include "mapping/table.h"

namespace compatcheck::analysis {
namespace {

using ir::TypeKind;

std::string plain(std::string_view name) {
  std::string text;
  for (const char letter : name)
    if (letter != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::string_view base_of(std::string_view op) { return op.substr(op.rfind(':') + 1); }

const ir::Type& bare(const ir::TypeRef& type) { return type->kind == TypeKind::optional ? *type->elements.front() : *type; }

bool holds_tensors(const ir::TypeRef& type) {
  const ir::Type& inner = bare(type);
  return inner.kind == TypeKind::tensor || (inner.kind == TypeKind::list && bare(inner.elements.front()).kind == TypeKind::tensor);
}

std::vector<std::string> inputs_of(const schema::Schema& schema) {
  std::vector<std::string> inputs;
  for (const auto& argument : schema.arguments)
    if (is_tensor(argument) && !argument.written) inputs.push_back(argument.name);
  return inputs;
}

// As YAML has the value; nullopt for what a condition can't compare with.
std::optional<std::string> yaml(const ir::Constant& constant) {
  if (std::holds_alternative<std::monostate>(constant.value)) return "~";
  if (const auto* boolean = std::get_if<bool>(&constant.value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&constant.value)) return std::to_string(*integer);
  if (const auto* floating = std::get_if<double>(&constant.value)) return ir::plainly(*floating);
  return std::nullopt;
}

Bindings of_own_domain(const schema::Schema& schema) {
  Bindings made{.inputs = inputs_of(schema), .attributes = {}, .conditions = {}};
  for (const auto& argument : schema.arguments)
    if (const auto kind = kind_of(argument); !is_tensor(argument) && !kind.empty())
      made.attributes.push_back(argument.name + ": {" + std::string(kind) + ": " + argument.name + "}");
  return made;
}

// Attributes by their names; what ONNX has no word for must be at its default.
Bindings as_operator(const onnx::Schema& onnx, const schema::Schema& schema) {
  Bindings made{.inputs = inputs_of(schema), .attributes = {}, .conditions = {}};
  if (onnx.max_inputs != onnx::any_number && made.inputs.size() > static_cast<std::size_t>(onnx.max_inputs)) made.inputs.resize(static_cast<std::size_t>(onnx.max_inputs));
  for (const auto& argument : schema.arguments) {
    if (is_tensor(argument)) continue;
    if (onnx.attribute(argument.name)) made.attributes.push_back(argument.name + ": " + argument.name);
    else if (const auto value = argument.default_value ? yaml(*argument.default_value) : std::nullopt) made.conditions.push_back(argument.name + ": " + *value);
  }
  return made;
}

}  // namespace

bool is_tensor(const schema::Argument& argument) { return holds_tensors(argument.type); }

std::string_view kind_of(const schema::Argument& argument) {
  const ir::Type& type = bare(argument.type);
  const TypeKind inner = type.kind == TypeKind::list ? bare(type.elements.front()).kind : type.kind;
  const bool list = type.kind == TypeKind::list;
  switch (inner) {
    case TypeKind::integer: return list ? "ints" : argument.name == "dtype" ? "dtype" : "int";
    case TypeKind::floating: case TypeKind::number: return list ? "floats" : "float";
    case TypeKind::boolean: return list ? "ints" : "bool";
    case TypeKind::scalar_type: return list ? "" : "dtype";
    case TypeKind::string: return list ? "" : "string";
    default: return "";
  }
}

const onnx::Schema* counterpart(std::string_view op, int opset, const schema::Registry& schemas) {
  if (!op.starts_with("aten::")) return nullptr;
  const std::string name = plain(base_of(schemas.functional_form(op).value_or(std::string(op))));
  for (const std::string_view onnx : onnx::operator_names())
    if (plain(onnx) == name)
      if (const auto* found = onnx::find(onnx, opset); found && !found->deprecated) return found;
  return nullptr;
}

schema::Schema schema_of_call(const ir::Node& node) {
  if (node.schema()) return *node.schema();
  schema::Schema made;
  made.name = node.op();
  made.overload = node.overload();
  const auto type_of = [](const ir::Value* value) {
    const bool tensor = !value->type() || value->type()->kind == TypeKind::tensor || value->type()->kind == TypeKind::any;
    return tensor ? ir::tensor_type() : value->type();
  };
  for (const ir::Value* input : node.inputs()) {
    schema::Argument argument;
    argument.name = "arg" + std::to_string(made.arguments.size());
    argument.type = type_of(input);
    made.arguments.push_back(std::move(argument));
  }
  for (const ir::Value* output : node.outputs()) {
    schema::Argument result;
    result.type = type_of(output);
    made.returns.push_back(std::move(result));
  }
  return made;
}

std::string Bindings::text() const {
  std::string text = inputs.empty() ? "" : "inputs: [" + mapping::joined(inputs) + "]";
  if (!attributes.empty()) text += (text.empty() ? "" : ", ") + ("attributes: {" + mapping::joined(attributes) + "}");
  if (!conditions.empty()) text += (text.empty() ? "" : ", ") + ("when: {" + mapping::joined(conditions) + "}");
  return text;
}

Bindings bindings_of(const schema::Schema& schema, const onnx::Schema* onnx) { return onnx ? as_operator(*onnx, schema) : of_own_domain(schema); }

std::string_view facts_word_for(const schema::Schema& schema) {
  if (schema.returns.size() != 1 || !ir::is(schema.returns.front().type, TypeKind::tensor)) return {};
  const auto tensors = std::ranges::count_if(schema.arguments, [](const auto& argument) { return is_tensor(argument); });
  return tensors > 1 ? "pointwise" : tensors == 1 ? "same" : "";
}

std::string row_to_add(const schema::Schema& schema, const RowToAdd& how) {
  // The row of an autograd Function says its name alone: docs/mappings.md.
  const bool function = schema.name == "prim::PythonOp";
  const std::string key = function || (how.name_overload && !schema.overload.empty()) ? schema.name + "." + schema.overload : schema.name;
  const std::string stated = function ? schema::to_string(schema).substr(schema.name.size() + 1) : schema::to_string(schema);
  const std::string to = how.onnx ? std::string(how.onnx->name) : "your.domain::" + (function ? schema.overload : std::string(base_of(schema.name)));
  const std::string bindings = bindings_of(schema, how.onnx).text();
  const std::string_view word = how.state_facts ? facts_word_for(schema) : "";
  const int opset = how.onnx ? std::max(how.onnx->since, mapping::lowest_opset) : mapping::lowest_opset;
  return key + ": {" + (how.state_schema ? "schema: \"" + stated + "\", " : "") + (word.empty() ? "" : "facts: " + std::string(word) + ", ") +
         std::to_string(opset) + ": {to: " + to + (bindings.empty() ? "" : ", ") + bindings + "}}";
}

}  // namespace compatcheck::analysis
