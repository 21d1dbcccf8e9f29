// Constant expressions: defaults of parameters, constants of classes, literals.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "frontend/native/emitter.h"

namespace compatcheck::frontend::native {
namespace {

using ir::Constant;
using ir::TypeKind;
using ir::TypeRef;

[[noreturn]] void not_constant() { throw Unsupported("its code has a default or constant that isn't plain"); }

double float_of(std::string_view digits) { return std::strtod(std::string(digits).c_str(), nullptr); }

Constant negated(const Constant& number) {
  if (const auto* integer = number.get<std::int64_t>()) return {static_cast<std::int64_t>(-static_cast<std::uint64_t>(*integer))};
  if (const auto* real = number.get<double>()) return {-*real};
  if (const auto* complex = number.get<std::complex<double>>()) return {-*complex};
  not_constant();
}

std::complex<double> complex_of(const Constant& number) {
  if (const auto* integer = number.get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* real = number.get<double>()) return *real;
  if (const auto* complex = number.get<std::complex<double>>()) return *complex;
  not_constant();
}

Constant list_value(Code& code, const Expression& expression, const TypeRef& type) {
  ir::ListConstant made{element_of(type, 0), {}};
  for (const Expression& part : expression.parts) made.items.push_back(constant_value(code, part, made.element));
  if (!made.element) made.element = made.items.empty() ? ir::tensor_type() : ir::type_of(made.items[0]);
  return {std::move(made)};
}

Constant tuple_value(Code& code, const Expression& expression, std::size_t first, const TypeRef& type) {
  ir::TupleConstant made{type, {}};
  std::vector<TypeRef> types;
  for (std::size_t i = first; i < expression.parts.size(); ++i) {
    made.items.push_back(constant_value(code, expression.parts[i], element_of(type, i - first)));
    types.push_back(ir::type_of(made.items.back()));
  }
  if (!made.type) made.type = ir::tuple_of(std::move(types));
  return {std::move(made)};
}

Constant dict_value(Code& code, const Expression& expression, const TypeRef& type) {
  ir::DictConstant made(element_of(type, 0), element_of(type, 1), {});
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2)
    made.items.emplace_back(constant_value(code, expression.parts[i], made.key),
                            constant_value(code, expression.parts[i + 1], made.value));
  if (!made.key) made.key = made.items.empty() ? ir::simple_type(TypeKind::string) : ir::type_of(made.items[0].first);
  if (!made.value) made.value = made.items.empty() ? ir::tensor_type() : ir::type_of(made.items[0].second);
  return {std::move(made)};
}

bool is_literal(const Expression& value) {
  const Expression& plain = value.is(Form::negative) ? value.parts[0] : value;
  return plain.is(Form::integer) || plain.is(Form::floating) || plain.is(Form::text);
}

// annotate(T, x), torch.device("cpu"), a NamedTuple.
Constant call_value(Code& code, const Expression& call) {
  const std::string callee = dotted(call.parts[0]);
  if (callee == "annotate" && call.parts.size() == 3)
    return constant_value(code, call.parts[2], code.definitions.type(call.parts[1]));
  if (callee == "torch.device" && call.parts.size() == 2 && call.parts[1].is(Form::text))
    return {ir::DeviceConstant{std::string(call.parts[1].text)}};
  const ClassDefinition* made = callee.starts_with("__torch__.") ? code.definitions.find_class(callee) : nullptr;
  if (made && made->kind == ClassDefinition::Kind::named_tuple) return tuple_value(code, call, 1, made->type);
  not_constant();
}

Constant named_value(Code& code, const Expression& expression) {
  const std::string name = dotted(expression);
  if (name == "inf") return {std::numeric_limits<double>::infinity()};
  if (name == "nan") return {std::numeric_limits<double>::quiet_NaN()};
  if (name == "infj") return {std::complex<double>(0, std::numeric_limits<double>::infinity())};
  if (name == "nanj") return {std::complex<double>(0, std::numeric_limits<double>::quiet_NaN())};
  if (name.starts_with("CONSTANTS.c")) {
    std::size_t place = 0;
    const auto [end, error] = std::from_chars(name.data() + 11, name.data() + name.size(), place);
    if (error != std::errc{} || end != name.data() + name.size() || place >= code.constants.size())
      throw ModelError("its code reads " + name + ", which isn't in the archive");
    return code.constants[place].first;
  }
  if (!name.starts_with("__torch__.")) not_constant();
  const auto dot = name.rfind('.');
  const ClassDefinition* cls = code.definitions.find_class(name.substr(0, dot));
  if (cls && cls->kind == ClassDefinition::Kind::enumeration)
    for (const auto& [member, value] : cls->finals)
      if (member == name.substr(dot + 1) && is_literal(*value))
        return {ir::EnumConstant{cls->name, member, std::make_shared<const Constant>(constant_value(code, *value))}};
  if (const FunctionDefinition* function = code.definitions.find_function(name)) {
    if (code.called) code.called(*function);
    return {ir::FunctionConstant{name}};
  }
  not_constant();
}

}  // namespace

Constant constant_value(Code& code, const Expression& expression, const TypeRef& stated) {
  const TypeRef type = stated ? ir::without_optional(stated) : nullptr;
  switch (expression.kind) {
    case Form::integer: {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(expression.text.data(), expression.text.data() + expression.text.size(), value);
      // Negative numbers come as a minus and a number.
      if (error == std::errc::result_out_of_range && expression.text == "9223372036854775808")
        return {std::numeric_limits<std::int64_t>::min()};
      if (error != std::errc{}) throw ModelError("its code has an integer of more than 64 bits");
      return {value};
    }
    case Form::floating: return {float_of(expression.text)};
    case Form::imaginary: return {std::complex<double>(0, float_of(expression.text))};
    case Form::text: return {std::string(expression.text)};
    case Form::true_value: return {true};
    case Form::false_value: return {false};
    case Form::none: return {};
    case Form::list: return list_value(code, expression, type);
    case Form::tuple: return tuple_value(code, expression, 0, type);
    case Form::dict: return dict_value(code, expression, type);
    case Form::call: return call_value(code, expression);
    case Form::name:
    case Form::attribute: return named_value(code, expression);
    case Form::negative: return negated(constant_value(code, expression.parts[0], type));
    case Form::sum:
      return {complex_of(constant_value(code, expression.parts[0])) + complex_of(constant_value(code, expression.parts[1]))};
    case Form::difference:
      return {complex_of(constant_value(code, expression.parts[0])) - complex_of(constant_value(code, expression.parts[1]))};
    default: not_constant();
  }
}

}  // namespace compatcheck::frontend::native
