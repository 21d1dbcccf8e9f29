// Calls of torch.autograd.Functions. A graph's text shows `^MyClip(0.5)(%x)`: the Function's name, its plain arguments, its
// tensors. Each becomes a call of the overload "MyClip" of prim::PythonOp with all of its arguments as inputs.
#include <algorithm>
#include <charconv>
#include <map>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;
using ir::TypeKind;
using ir::TypeRef;

constexpr std::string_view python_op = "prim::PythonOp";
constexpr int deepest_list = 16;

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(' ');
  return from == std::string_view::npos ? std::string_view() : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// At commas outside of brackets.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> made;
  int depth = 0;
  std::size_t from = 0;
  if (trimmed(text).empty()) return made;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) depth += (text[i] == '[' || text[i] == '(') - (text[i] == ']' || text[i] == ')');
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const auto part = trimmed(text.substr(from, i - from)); !part.empty()) made.push_back(part);
    from = i + 1;
  }
  return made;
}

template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Reads a value as Python prints it. Anything but a number, a bool, None or a list of numbers is a string.
Constant parsed_value(std::string_view text, int depth = 0) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return {text == "True"};
  if (const auto whole = parsed_number<std::int64_t>(text)) return {*whole};
  if (const auto floating = parsed_number<double>(text)) return {*floating};
  const bool list =
      text.size() >= 2 && ((text.front() == '[' && text.back() == ']') || (text.front() == '(' && text.back() == ')'));
  if (!list || depth > deepest_list) return {std::string(text)};
  ir::ListConstant made;
  for (const auto part : parts(text.substr(1, text.size() - 2))) made.items.push_back(parsed_value(part, depth + 1));
  const bool floats = std::ranges::any_of(made.items, [](const Constant& item) { return item.get<double>(); });
  for (Constant& item : made.items) {
    if (!item.get<std::int64_t>() && !item.get<double>()) return {std::string(text)};
    if (const auto* whole = item.get<std::int64_t>(); whole && floats) item = {static_cast<double>(*whole)};
  }
  made.element = ir::simple_type(floats ? TypeKind::floating : TypeKind::integer);
  return {std::move(made)};
}

std::vector<Constant> scalars_of(const ir::Node& node) {
  const Constant* text = node.attribute("scalars");
  std::vector<Constant> made;
  if (text && text->get<std::string>())
    for (const auto part : parts(*text->get<std::string>())) made.push_back(parsed_value(part));
  return made;
}

std::string name_of(const ir::Node& node) {
  for (const char* attribute : {"pyname", "name"})
    if (const Constant* name = node.attribute(attribute); name && name->get<std::string>()) return *name->get<std::string>();
  return {};
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::string_view type_word(const Constant& constant) {
  if (constant.get<bool>()) return "bool";
  if (constant.get<std::int64_t>()) return "int";
  if (constant.get<double>()) return "float";
  if (const auto* list = constant.get<ir::ListConstant>()) return ir::is(list->element, TypeKind::floating) ? "float[]" : "int[]";
  return constant.is_none() ? "None" : "str";
}

// "prim::PythonOp.MyClip(Tensor input_0, float scalar_0) -> Tensor": numbers of several kinds are a Scalar.
std::string assumed_schema(const std::string& name, const std::vector<const ir::Node*>& calls) {
  const ir::Node& first = *calls.front();
  std::string text = std::string(python_op) + "." + name + "(";
  for (std::size_t i = 0; i < first.inputs().size(); ++i) text += (i ? ", Tensor input_" : "Tensor input_") + std::to_string(i);
  std::vector<std::string> words;
  std::vector<bool> optional;  // None in some call
  for (const ir::Node* call : calls) {
    const auto scalars = scalars_of(*call);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const std::string word(type_word(scalars[i]));
      optional.resize(std::max(optional.size(), i + 1));
      optional[i] = optional[i] || word == "None";
      if (i >= words.size())
        words.push_back(word);
      else if (words[i] == "None")
        words[i] = word;
      else if (words[i] != word && (words[i] == "int" || words[i] == "float" || words[i] == "Scalar") &&
               (word == "int" || word == "float"))
        words[i] = "Scalar";
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i)  // an argument that is always None has no known type
    text += (i || !first.inputs().empty() ? ", " : "") + (words[i] == "None" ? "Scalar" : words[i]) + (optional[i] ? "?" : "") +
            " scalar_" + std::to_string(i);
  text += ") -> ";
  if (first.outputs().size() == 1) return text + "Tensor";
  text += "(";
  for (std::size_t i = 0; i < first.outputs().size(); ++i) text += i ? ", Tensor" : "Tensor";
  return text + ")";
}

bool takes_value(const TypeRef& type) {
  if (type->kind == TypeKind::optional || type->kind == TypeKind::list) return takes_value(type->elements.front());
  return type->kind == TypeKind::tensor;
}

// Converts a constant to the schema's type: an int becomes a float where the type is a float.
Constant converted(Constant constant, const TypeRef& type) {
  if (type->kind == TypeKind::optional) return converted(std::move(constant), type->elements.front());
  if (type->kind == TypeKind::floating && constant.get<std::int64_t>())
    return {static_cast<double>(*constant.get<std::int64_t>())};
  if (auto* list = constant.get<ir::ListConstant>(); list && type->kind == TypeKind::list) {
    for (Constant& item : list->items) item = converted(std::move(item), type->elements.front());
    list->element = type->elements.front();
  }
  return constant;
}

// Tensors fill the schema's tensors in order, plain arguments what is left; false if they are of another number.
bool bind(ir::Node& node, const schema::Schema& schema) {
  const std::vector<ir::Value*> values(node.inputs().begin(), node.inputs().end());
  const auto scalars = scalars_of(node);
  const auto tensors = static_cast<std::size_t>(
      std::ranges::count_if(schema.arguments, [](const auto& argument) { return takes_value(argument.type); }));
  if (schema.variadic_arguments || values.size() != tensors || scalars.size() > schema.arguments.size() - tensors) return false;
  std::vector<ir::Value*> given;
  std::size_t value = 0, plain = 0;
  for (const auto& argument : schema.arguments) {
    if (takes_value(argument.type))
      given.push_back(values[value++]);
    else if (plain < scalars.size())
      given.push_back(constant_before(&node, converted(scalars[plain++], argument.type)));
    else if (argument.default_value)
      given.push_back(constant_before(&node, *argument.default_value));
    else
      return false;
  }
  node.erase_all_inputs();
  for (ir::Value* one : given) node.add_input(one);
  return true;
}

}  // namespace

void name_python_functions(ir::Graph& graph, schema::Registry& schemas, const ir::Watch& watch) {
  std::map<std::string, std::vector<const ir::Node*>> calls;
  for (const ir::Node* node : all_nodes(graph, watch))
    if (node->is(python_op) && is_name(name_of(*node))) calls[name_of(*node)].push_back(node);
  for (const auto& [name, nodes] : calls)
    if (!schemas.find(python_op, name)) schemas.add(assumed_schema(name, nodes));
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is(python_op) || !is_name(name_of(*node))) continue;
    const schema::Schema* schema = schemas.find(python_op, name_of(*node));
    const bool bound = schema && bind(*node, *schema);
    node->set_schema(bound ? schema : nullptr);
    node->set_overload(name_of(*node));
  }
}

}  // namespace compatcheck::passes
