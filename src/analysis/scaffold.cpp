#include "analysis/scaffold.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "ir/number_text.h"
#include "lint/kinds.h"
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

const ir::Type& bare_type(const ir::TypeRef& type) { return type->kind == TypeKind::optional ? *type->elements.front() : *type; }

bool holds_tensors(const ir::TypeRef& type) {
  const ir::Type& inner = bare_type(type);
  return inner.kind == TypeKind::tensor || (inner.kind == TypeKind::list && holds_tensors(inner.elements.front()));
}

std::vector<std::string> inputs_of(const schema::Schema& schema) {
  std::vector<std::string> inputs;
  for (const auto& argument : schema.arguments)
    if (is_tensor(argument) && !argument.written) inputs.push_back(argument.name);
  return inputs;
}

// The value in YAML; nullopt for a value that a condition can't be compared with.
std::optional<std::string> yaml(const ir::Constant& constant) {
  if (std::holds_alternative<std::monostate>(constant.value)) return "~";
  if (const auto* boolean = std::get_if<bool>(&constant.value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&constant.value)) return std::to_string(*integer);
  if (const auto* floating = std::get_if<double>(&constant.value)) return ir::plainly(*floating);
  return std::nullopt;
}

Bindings of_own_domain(const schema::Schema& schema) {
  Bindings made{.inputs = inputs_of(schema), .attributes = {}, .conditions = {}};
  for (const auto& argument : schema.arguments) {
    if (argument.type->kind == TypeKind::none) made.inputs.push_back("{none: " + argument.name + "}");
    const auto kind = kind_of(argument);
    if (is_tensor(argument) || kind.empty()) continue;
    const std::string attribute = argument.name + ": {" + std::string(kind) + ": " + argument.name + "}";
    if (std::ranges::find(made.attributes, attribute) == made.attributes.end())
      made.attributes.push_back(attribute);  // some have a name twice
  }
  return made;
}

bool is_attribute(const schema::Argument& argument, const onnx::Schema& onnx, const schema::Schema& schema) {
  const auto* attribute = onnx.attribute(argument.name);
  return attribute &&
         lint::attribute_misfit(mapping::Binding{.argument = argument.name, .constant = {}}, {}, attribute->type, {&schema})
             .empty();
}

// A number or a list of them that ONNX may have as an input.
bool may_be_input(const schema::Argument& argument) {
  const auto kind = kind_of(argument);
  return !argument.written && (kind == "int" || kind == "float" || kind == "bool" || kind == "ints" || kind == "floats");
}

// Tensors become inputs, as many as ONNX has; numbers only where ONNX requires more. Attributes match by name; arguments
// without a counterpart must have their defaults. Absent: ONNX requires more than the call has, or supports less.
std::optional<Bindings> as_operator(const onnx::Schema& onnx, const schema::Schema& schema) {
  Bindings made;
  std::size_t inputs = 0;
  const auto room = [&] { return onnx.max_inputs == onnx::any_number || inputs < static_cast<std::size_t>(onnx.max_inputs); };
  for (const auto& argument : schema.arguments) {
    if (!is_tensor(argument) || argument.written) continue;
    if (room())
      made.inputs.push_back(argument.name), ++inputs;
    else if (argument.type->kind == TypeKind::optional)
      made.conditions.push_back(argument.name + ": ~");
    else
      return std::nullopt;
  }
  for (const auto& argument : schema.arguments) {
    if (is_tensor(argument)) continue;
    if (is_attribute(argument, onnx, schema))
      made.attributes.push_back(argument.name + ": " + argument.name);
    else if (inputs < static_cast<std::size_t>(onnx.min_inputs) && may_be_input(argument))
      made.inputs.push_back("{" + std::string(kind_of(argument)) + ": " + argument.name + "}"), ++inputs;
    else if (const auto value = argument.default_value ? yaml(*argument.default_value) : std::nullopt)
      made.conditions.push_back(argument.name + ": " + *value);
  }
  return inputs < static_cast<std::size_t>(onnx.min_inputs) ? std::nullopt : std::optional(std::move(made));
}

}  // namespace

bool is_tensor(const schema::Argument& argument) { return holds_tensors(argument.type); }

std::string_view kind_of(const schema::Argument& argument) {
  const ir::Type& type = bare_type(argument.type);
  const TypeKind inner = type.kind == TypeKind::list ? bare_type(type.elements.front()).kind : type.kind;
  const bool list = type.kind == TypeKind::list;
  switch (inner) {
    case TypeKind::integer: return list ? "ints" : argument.name == "dtype" ? "dtype" : "int";
    case TypeKind::floating:
    case TypeKind::number: return list ? "floats" : "float";
    case TypeKind::boolean: return list ? "" : "bool";
    case TypeKind::scalar_type: return list ? "" : "dtype";
    case TypeKind::string: return list ? "" : "string";
    default: return "";
  }
}

namespace {

// In the version of some opset and in all above, where the same row holds.
bool fits(const onnx::Schema& onnx, const schema::Schema& schema) {
  const auto row = as_operator(onnx, schema);
  return row && std::ranges::all_of(onnx::versions(onnx.name), [&](const onnx::Schema& version) {
           if (version.since <= onnx.since) return true;
           const auto later = as_operator(version, schema);
           return later && later->text() == row->text();
         });
}

}  // namespace

const onnx::Schema* counterpart(std::string_view op, const schema::Schema& schema, int opset, const schema::Registry& schemas) {
  if (!op.starts_with("aten::")) return nullptr;
  const std::string name = plain(base_of(schemas.functional_form(op).value_or(std::string(op))));
  for (const std::string_view onnx : onnx::operator_names())
    if (plain(onnx) == name)
      if (const auto* found = onnx::find(onnx, opset); found && !found->deprecated && fits(*found, schema)) return found;
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

Bindings bindings_of(const schema::Schema& schema, const onnx::Schema* onnx) {
  return onnx ? as_operator(*onnx, schema).value() : of_own_domain(schema);
}

std::string facts_word_for(const schema::Schema& schema) {
  const auto tensors = std::ranges::count_if(schema.arguments, [](const auto& argument) { return is_tensor(argument); });
  const auto is_one = [](const auto& result) { return ir::is(result.type, TypeKind::tensor); };
  if (tensors == 0 || std::ranges::none_of(schema.returns, is_one)) return {};
  const std::string word = tensors > 1 ? "pointwise" : "same";
  if (schema.returns.size() == 1) return word;
  std::vector<std::string> words;
  for (const auto& result : schema.returns) words.push_back(is_one(result) ? word : "~");
  return "[" + mapping::joined(words) + "]";
}

std::string text_to_fill(const std::string& name, const schema::Schema& schema, std::string_view operators) {
  std::vector<std::string> attributes, inputs, outputs;
  for (const auto& argument : schema.arguments) {
    if (is_tensor(argument))
      inputs.push_back(argument.name);
    else if (!kind_of(argument).empty())
      attributes.push_back(argument.name);
  }
  for (std::size_t i = 0; i < schema.returns.size(); ++i)
    outputs.push_back(schema.returns.size() == 1 ? "result" : "result_" + std::to_string(i));
  return name + (attributes.empty() ? "" : " <" + mapping::joined(attributes) + ">") + " (" + mapping::joined(inputs) + ") => (" +
         mapping::joined(outputs) + ") { " + mapping::joined(outputs) + " = " + std::string(operators) + " (" +
         mapping::joined(inputs) + ") }";
}

std::string row_to_add(const schema::Schema& schema, const RowToAdd& how) {
  // The row of an autograd Function is only its name: docs/mappings.md.
  const bool function = schema.name == "prim::PythonOp";
  const std::string key =
      function || (how.name_overload && !schema.overload.empty()) ? schema.name + "." + schema.overload : schema.name;
  const std::string stated = function ? schema::to_string(schema).substr(schema.name.size() + 1) : schema::to_string(schema);
  const std::string name = function ? schema.overload : std::string(base_of(schema.name));
  if (how.inlined) {
    const std::string bindings = bindings_of(schema).text();
    return key + ": {" + (how.state_schema ? "schema: \"" + stated + "\", " : "") + std::to_string(*how.inlined) + ": {" +
           bindings + (bindings.empty() ? "" : ", ") + "inline: \"" + text_to_fill(name, schema) + "\"" +
           (how.complex ? ", complex: true" : "") + "}}";
  }
  const std::string to = how.onnx ? std::string(how.onnx->name) : "your.domain::" + name;
  const std::string bindings = bindings_of(schema, how.onnx).text();
  const std::string word = how.state_facts && !facts_word_for(schema).empty() ? std::string(facts_to_fill) : std::string();
  const int opset = how.onnx ? std::max(how.onnx->since, mapping::lowest_opset) : mapping::lowest_opset;
  return key + ": {" + (how.state_schema ? "schema: \"" + stated + "\", " : "") + (word.empty() ? "" : "facts: " + word + ", ") +
         std::to_string(opset) + ": {to: " + to + (bindings.empty() ? "" : ", ") + bindings +
         (how.complex ? ", complex: true" : "") + "}}";
}

}  // namespace compatcheck::analysis
