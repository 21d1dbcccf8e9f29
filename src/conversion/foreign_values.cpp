#include "conversion/foreign_values.h"

#include <algorithm>

#include "conversion/foreign.h"
#include "conversion/interface.h"
#include "symbolic/condition.h"
#include "symbolic/promotion.h"

namespace compatcheck::conversion {
namespace {

using handlers::Complex;
using handlers::List;
using handlers::Number;
using handlers::Operand;
using ir::DType;
using ir::TypeKind;
using onnx::Refusal;
using onnx::Value;
using onnx::ValueInfo;
using onnx::Values;
using symbolic::Fact;

constexpr const char* list_maker = "org.pytorch.prim::ListConstruct";
constexpr const char* list_taker = "org.pytorch.prim::ListUnpack";

std::optional<DType> dtype_of(const ir::TypeRef& type) {
  if (ir::is(type, TypeKind::integer)) return DType::i64;
  if (ir::is(type, TypeKind::floating)) return DType::f64;
  if (ir::is(type, TypeKind::boolean)) return DType::boolean;
  return std::nullopt;
}

ir::TypeRef element_of(const ir::TypeRef& type) {
  if (ir::is(type, TypeKind::optional)) return element_of(type->elements.front());
  return type && !type->elements.empty() ? type->elements.front() : nullptr;
}

bool holds_tensor(const ir::TypeRef& type) {
  if (!type || type->kind == TypeKind::tensor || type->kind == TypeKind::any) return true;
  return type->kind == TypeKind::optional && holds_tensor(type->elements.front());
}

ValueInfo untyped(ValueInfo::Kind kind = ValueInfo::Kind::tensor) {
  return {.kind = kind, .untyped = true, .shape = {}, .name = {}};
}

ValueInfo typed(DType dtype, std::optional<std::vector<onnx::Dimension>> shape, ValueInfo::Kind kind = ValueInfo::Kind::tensor) {
  if (ir::is_quantized(dtype)) throw Refusal{"it gives a quantized tensor, which ONNX has no value of"};
  if (!onnx::data_type(dtype)) throw Refusal{"it gives " + std::string(ir::name(dtype)) + ", which ONNX has no tensors of"};
  return {.kind = kind, .dtype = dtype, .stated = true, .shape = std::move(shape), .name = {}};
}

// ONNX has no operator that joins or parts complex numbers.
Value of_pytorch(const char* op, const Values& inputs, const ValueInfo& type, onnx::Builder& builder) {
  return builder.foreign("org.pytorch.aten::ATen", inputs, {{"operator", op}, {"overload_name", ""}}, {type}).front();
}

// ---- Arguments

// Python's order: True counts as 1, 1 as 1.0.
DType common_dtype(const List& list, const ir::TypeRef& type) {
  if (const auto stated = dtype_of(element_of(type))) return *stated;
  bool floating = false, integer = list.items.empty();
  for (const Operand& item : list.items) {
    floating |= item.number()->dtype() == DType::f64;
    integer |= item.number()->dtype() == DType::i64;
  }
  return floating ? DType::f64 : integer ? DType::i64 : DType::boolean;
}

bool holds_numbers(const List& list, const ir::TypeRef& type) {
  if (list.items.empty()) return dtype_of(element_of(type)) || ir::is(element_of(type), TypeKind::number);
  return std::ranges::all_of(list.items, [](const Operand& item) { return item.number() != nullptr; });
}

bool can_be_sequence(const Values& members, onnx::Builder& builder) {
  if (members.empty() || !builder.at_least(11)) return false;
  const auto* schema = builder.schema("SequenceConstruct");
  return std::ranges::all_of(members, [&](const Value& member) {
    return member && !member.sequence && !builder.is_untyped(member) && member.dtype == members.front().dtype &&
           schema->inputs.front().accepts(member.dtype);
  });
}

Value list_input(const List& list, const ir::TypeRef& type, onnx::Builder& builder) {
  if (holds_numbers(list, type)) return handlers::vector_of(list, common_dtype(list, type), builder);
  Values members;
  for (const Operand& item : list.items) members.push_back(foreign_input(item, element_of(type), builder));
  if (can_be_sequence(members, builder))
    return builder
        .foreign("SequenceConstruct", members, {},
                 {ValueInfo{.kind = ValueInfo::Kind::sequence, .dtype = members.front().dtype, .shape = {}, .name = {}}})
        .front();
  return builder.foreign(list_maker, members, {}, {untyped(ValueInfo::Kind::sequence)}).front();
}

Value number_input(const Number& number, onnx::Builder& builder) {
  if (const auto* value = std::get_if<Value>(&number.value)) return *value;
  if (const auto* floating = std::get_if<double>(&number.value)) return builder.scalar(DType::f64, *floating);
  if (const auto* boolean = std::get_if<bool>(&number.value)) return builder.scalar(DType::boolean, std::int64_t{*boolean});
  return builder.scalar(DType::i64, std::get<std::int64_t>(number.value));
}

Value known_input(const ir::Constant& constant, onnx::Builder& builder) {
  const auto* device = constant.get<ir::DeviceConstant>();
  const auto* text = device ? &device->device : constant.get<std::string>();
  if (!text) throw Refusal{"an argument is a " + ir::to_string(*ir::type_of(constant)) + ", which ONNX has no value of"};
  if (!builder.at_least(9))
    return builder.foreign("org.pytorch.prim::Constant", {}, {{"value", *text}}, {untyped()})
        .front();  // Constant holds no strings
  return builder.foreign("Constant", {}, {{"value", onnx::TextData{*text}}}, {untyped()}).front();
}

// ---- Results

bool is_known(const Fact& fact) {
  if (fact.is_none() || std::holds_alternative<symbolic::ConstantFact>(fact.value)) return true;
  if (const auto* number = fact.number())
    return (number->integer && number->integer->is_number()) ||
           (number->kind == symbolic::NumberFact::Kind::floating && number->floating);
  const auto* list = fact.list();
  return list && list->items && std::ranges::all_of(*list->items, is_known);
}

std::optional<DType> dtype_of_members(const symbolic::ListFact& list) {
  const auto dtype = [](const Fact& fact) { return fact.tensor() ? fact.tensor()->dtype : std::nullopt; };
  if (!list.items) return list.element ? dtype(*list.element) : std::nullopt;
  const auto first = list.items->empty() ? std::nullopt : dtype(list.items->front());
  return std::ranges::all_of(*list.items, [&](const Fact& item) { return dtype(item) == first; }) ? first : std::nullopt;
}

std::optional<ValueInfo> list_output(const symbolic::ListFact& list, const ir::TypeRef& type) {
  const ir::TypeRef element = element_of(type);
  if (const auto dtype = dtype_of(element)) {
    const auto length = list.items ? std::optional(static_cast<std::int64_t>(list.items->size())) : std::nullopt;
    return typed(*dtype, std::vector<onnx::Dimension>{{length, {}}});
  }
  if (!ir::is(element, TypeKind::tensor)) return std::nullopt;
  const auto dtype = dtype_of_members(list);
  return dtype ? typed(*dtype, {}, ValueInfo::Kind::sequence) : untyped(ValueInfo::Kind::sequence);
}

Operand list_result(const symbolic::ListFact& list, const ir::TypeRef& type, const Value& made, onnx::Builder& builder) {
  const bool numbers = dtype_of(element_of(type)).has_value();
  if (!list.items) return numbers ? Operand{handlers::Vector{made}} : Operand{handlers::Sequence{made}};
  List members;
  const auto number_at = [&](std::size_t i) -> Operand {
    const Fact& item = (*list.items)[i];
    if (is_known(item)) return handlers::operand_of(item, element_of(type), [](DType, bool) { return Value{}; });
    return {Number{builder.gather(made, builder.integer(static_cast<std::int64_t>(i)), 0)}};
  };
  std::vector<std::optional<ValueInfo>> types;
  for (std::size_t i = 0; i < list.items->size(); ++i) {
    if (numbers)
      members.items.push_back(number_at(i));
    else
      types.push_back(tensor_type((*list.items)[i]));
  }
  if (numbers) return {std::move(members)};
  if (!builder.at_least(11) || builder.is_untyped(made)) {
    for (const Value& member : builder.foreign(list_taker, {made}, {}, types)) members.items.push_back({member});
    return {std::move(members)};
  }
  for (std::size_t i = 0; i < types.size(); ++i)
    members.items.push_back(
        {builder.foreign("SequenceAt", {made, builder.integer(static_cast<std::int64_t>(i))}, {}, {types[i]}).front()});
  return {std::move(members)};
}

}  // namespace

ValueInfo tensor_type(const Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->dtype ? typed(*tensor->dtype, shape_of(fact)) : untyped();
}

ValueInfo number_type(const symbolic::NumberFact& fact) {
  using Kind = symbolic::NumberFact::Kind;
  return typed(fact.kind == Kind::floating  ? DType::f64
               : fact.kind == Kind::boolean ? DType::boolean
                                            : DType::i64,
               std::vector<onnx::Dimension>{});
}

Value foreign_input(const Operand& operand, const ir::TypeRef& type, onnx::Builder& builder) {
  if (operand.is_none()) return {};
  if (const Value* tensor = operand.tensor()) return *tensor;
  if (const Number* number = operand.number()) return number_input(*number, builder);
  if (const List* list = operand.list()) return list_input(*list, type, builder);
  if (const auto* vector = std::get_if<handlers::Vector>(&operand.value)) return vector->value;
  if (const auto* sequence = std::get_if<handlers::Sequence>(&operand.value)) return sequence->value;
  if (const auto* known = std::get_if<handlers::Known>(&operand.value)) return known_input(known->value, builder);
  if (const Complex* complex = operand.complex()) {
    const DType dtype = complex->real.dtype == DType::f64 ? DType::c128 : DType::c64;
    return of_pytorch("complex", {complex->real, complex->imag}, typed(dtype, {}), builder);
  }
  if (std::holds_alternative<handlers::Quantized>(operand.value))
    throw Refusal{"an argument is a quantized tensor, which ONNX has no value of"};
  throw Refusal{"an argument" + (type ? " of type " + ir::to_string(*type) : std::string()) + " is what ONNX has no value of"};
}

std::optional<ValueInfo> foreign_output(const Fact& fact, const ir::Value& value) {
  if (is_known(fact)) return std::nullopt;
  if (fact.tensor()) return tensor_type(fact);
  if (const auto* number = fact.number()) return number_type(*number);
  if (const auto* list = fact.list())
    if (auto made = list_output(*list, value.type())) return made;
  if (holds_tensor(value.type()) && !fact.list()) return untyped();
  if (ir::is_tensor_list(value.type())) return untyped(ValueInfo::Kind::sequence);
  if (value.unused()) return std::nullopt;
  throw Refusal{"it gives " + (value.type() ? "a " + ir::to_string(*value.type()) : std::string("something")) +
                ", which ONNX has no value of"};
}

Operand foreign_result(const Fact& fact, const ir::Value& value, const Value& made, onnx::Builder& builder) {
  if (!made) {
    if (is_known(fact)) return handlers::operand_of(fact, value.type(), [](DType, bool) { return Value{}; });
    return {handlers::Unresolved{}};
  }
  if (fact.number()) return {Number{made}};
  if (const auto* list = fact.list()) return list_result(*list, value.type(), made, builder);
  if (symbolic::is_complex(fact)) {
    const ValueInfo type = typed(symbolic::real_part(made.dtype), shape_of(fact));
    const Value real = of_pytorch("real", {made}, type, builder);
    return {Complex{real, of_pytorch("imag", {made}, type, builder)}};
  }
  return made.sequence ? Operand{handlers::Sequence{made}} : Operand{made};
}

}  // namespace compatcheck::conversion
