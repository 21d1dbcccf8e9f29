#include "handlers/operand.h"

#include "handlers/emission.h"
#include "ir/quantized.h"

namespace compatcheck::handlers {
namespace {

using ir::DType;
using ir::TypeKind;
using symbolic::Fact;
using symbolic::NumberFact;

Wanting unknown_dtype(const Fact& fact) {
  return {{.truth = symbolic::Truth::unknown,
           .message = std::string(unknown_tensor_dtype),
           .wants = fact.wants,
           .blame = fact.blame}};
}

DType dtype_of(NumberFact::Kind kind) {
  return kind == NumberFact::Kind::floating ? DType::f64 : kind == NumberFact::Kind::boolean ? DType::boolean : DType::i64;
}

std::optional<DType> dtype_of(TypeKind kind) {
  if (kind == TypeKind::integer) return DType::i64;
  if (kind == TypeKind::floating) return DType::f64;
  if (kind == TypeKind::boolean) return DType::boolean;
  return std::nullopt;
}

Operand number_operand(const NumberFact& fact, const FreshValue& fresh) {
  if (fact.kind == NumberFact::Kind::floating) {
    if (fact.floating) return {Number{*fact.floating}};
  } else if (fact.integer && fact.integer->is_number()) {
    const std::int64_t known = *fact.integer->number();
    if (fact.kind == NumberFact::Kind::boolean) return {Number{known != 0}};
    return {Number{known}};
  }
  return {Number{fresh(dtype_of(fact.kind), false)}};
}

Operand unresolved(const ir::TypeRef& type) { return {Unresolved{type ? ir::to_string(*type) : std::string()}}; }

Operand list(const symbolic::ListFact& fact, const ir::TypeRef& type, const FreshValue& fresh) {
  const bool tuple = ir::is(type, TypeKind::tuple);
  const auto element_type = [&](std::size_t i) -> ir::TypeRef {
    if (!type || type->elements.empty()) return nullptr;
    return tuple ? (i < type->elements.size() ? type->elements[i] : nullptr) : type->elements.front();
  };
  if (fact.items) {
    List made;
    for (std::size_t i = 0; i < fact.items->size(); ++i)
      made.items.push_back(operand_of((*fact.items)[i], element_type(i), fresh));
    return {std::move(made)};
  }
  const ir::TypeRef element = element_type(0);
  if (element)
    if (const auto dtype = dtype_of(element->kind)) return {Vector{fresh(*dtype, false)}};
  if (!ir::is(element, TypeKind::tensor)) return unresolved(type);
  const auto* tensor = fact.element ? fact.element->tensor() : nullptr;
  if (!tensor || !tensor->dtype) throw unknown_dtype(fact.element ? *fact.element : Fact{});
  if (ir::is_complex(*tensor->dtype)) return {Unresolved{"list of complex tensors"}};
  return {Sequence{fresh(*tensor->dtype, true)}};
}

}  // namespace

DType Number::dtype() const {
  if (std::holds_alternative<std::int64_t>(value)) return DType::i64;
  if (std::holds_alternative<double>(value)) return DType::f64;
  if (std::holds_alternative<bool>(value)) return DType::boolean;
  return std::get<Value>(value).dtype;
}

Operand operand_of(const Fact& fact, const ir::TypeRef& type, const FreshValue& fresh) {
  if (fact.is_none()) return {None{}};
  if (const auto* tensor = fact.tensor()) {
    if (!tensor->dtype) throw unknown_dtype(fact);
    if (ir::is_quantized(*tensor->dtype))
      return {
          Quantized{fresh(ir::stored_dtype(*tensor->dtype), false), fresh(DType::f32, false),
                    fresh(ir::stored_dtype(*tensor->dtype), false),
                    tensor->quantizer && tensor->quantizer->per_channel ? std::optional(tensor->quantizer->axis) : std::nullopt}};
    if (ir::is_complex(*tensor->dtype)) {
      const DType part = symbolic::real_part(*tensor->dtype);
      const Value real = fresh(part, false);
      return {Complex{real, fresh(part, false)}};
    }
    return {fresh(*tensor->dtype, false)};
  }
  if (const auto* known = fact.number()) return number_operand(*known, fresh);
  if (const auto* known = fact.list()) return list(*known, ir::without_optional(type), fresh);
  if (const auto* known = std::get_if<symbolic::ConstantFact>(&fact.value)) return {Known{known->value}};
  if (type &&
      (type->kind == TypeKind::tensor || (type->kind == TypeKind::optional && type->elements.front()->kind == TypeKind::tensor)))
    throw unknown_dtype(fact);
  if (type)
    if (const auto dtype = dtype_of(type->kind)) return {Number{fresh(*dtype, false)}};
  return unresolved(type);
}

constexpr std::int64_t most_held = 1 << 16;  // elements: an expanded tensor has more of them than its storage

onnx::TensorData data_of(const ir::TensorView& view) {
  const DType dtype = ir::is_quantized(view.dtype) ? ir::stored_dtype(view.dtype) : view.dtype;
  onnx::TensorData data{.dtype = dtype, .dims = view.sizes, .bytes = {}, .view = view};
  data.view->dtype = dtype;
  const std::size_t width = ir::element_bytes(dtype);
  const bool at_hand = view.storage && view.storage->data.size() == view.storage->bytes && width;
  const std::int64_t count = view.elements();
  if (!at_hand && !(view.storage && count == 0)) return data;
  if (count > most_held && !view.contiguous()) return data;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(count) * width);
  Ints at(view.sizes.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = view.offset;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * view.strides[d];
    const auto begin = static_cast<std::size_t>(place) * width;
    if (begin + width > view.storage->data.size()) return data;
    bytes.insert(bytes.end(), view.storage->data.begin() + static_cast<std::ptrdiff_t>(begin),
                 view.storage->data.begin() + static_cast<std::ptrdiff_t>(begin + width));
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == view.sizes[d];) at[d] = 0;
  }
  data.view.reset();
  data.bytes = std::move(bytes);
  return data;
}

namespace {

// Its real or imaginary parts: every other real number.
ir::TensorView part_of_view(const ir::TensorView& view, bool imaginary) {
  ir::TensorView part = view;
  part.dtype = symbolic::real_part(view.dtype);
  for (std::int64_t& stride : part.strides) stride *= 2;
  part.offset = 2 * view.offset + (imaginary ? 1 : 0);
  return part;
}

Operand quantized_of(const ir::TensorView& view, onnx::Builder& builder) {
  const DType stored = ir::stored_dtype(view.dtype);
  const ir::Quantizer& quantizer = *view.quantizer;
  const auto count = static_cast<std::int64_t>(quantizer.scales.size());
  if (!quantizer.per_channel)
    return {Quantized{builder.constant(data_of(view)),
                      builder.scalar(DType::f32, quantizer.scale),
                      builder.scalar(stored, quantizer.zero_point),
                      {}}};
  const auto zero_points = quantizer.float_zero_points.empty()
                               ? onnx::make_tensor(stored, {count}, quantizer.zero_points)
                               : onnx::make_tensor(DType::f32, {count}, quantizer.float_zero_points);
  return {Quantized{builder.constant(data_of(view)), builder.constant(onnx::make_tensor(DType::f32, {count}, quantizer.scales)),
                    builder.constant(zero_points), quantizer.axis}};
}

template <class Constants>
List list_of(const Constants& items, const ir::Program* program, onnx::Builder& builder) {
  List list;
  for (const ir::Constant& item : items) list.items.push_back(operand_of(item, program, builder));
  return list;
}

}  // namespace

Operand operand_of(const ir::Constant& constant, const ir::Program* program, onnx::Builder& builder) {
  if (constant.is_none()) return {None{}};
  if (const auto* integer = constant.get<std::int64_t>()) return {Number{*integer}};
  if (const auto* floating = constant.get<double>()) return {Number{*floating}};
  if (const auto* boolean = constant.get<bool>()) return {Number{*boolean}};
  if (const auto* view = constant.get<ir::TensorView>()) {
    if (!view->storage) return {Unresolved{}};
    if (ir::is_quantized(view->dtype)) return view->quantizer ? quantized_of(*view, builder) : Operand{Unresolved{}};
    if (ir::is_complex(view->dtype)) {
      const Value real = builder.constant(data_of(part_of_view(*view, false)));
      return {Complex{real, builder.constant(data_of(part_of_view(*view, true)))}};
    }
    return {builder.constant(data_of(*view))};
  }
  if (const auto* list = constant.get<ir::ListConstant>()) return {list_of(list->items, program, builder)};
  if (const auto* tuple = constant.get<ir::TupleConstant>()) return {list_of(tuple->items, program, builder)};
  if (const auto* dict = constant.get<ir::DictConstant>()) {
    Dict made;
    for (const auto& [key, value] : dict->items) made.items.push_back({key, operand_of(value, program, builder)});
    return {std::move(made)};
  }
  if (const auto* object = constant.get<ir::ObjectConstant>(); object && program && object->object < program->objects.size()) {
    const ir::Object& held = program->objects[object->object];
    const auto type = program->classes.find(held.class_name);
    if (type != program->classes.end()) return {Object{&type->second, &held, program}};
  }
  return {Known{constant}};
}

namespace {

Value value_of(const Number& number, onnx::Builder& builder) {
  if (const auto* value = std::get_if<Value>(&number.value)) return *value;
  if (const auto* floating = std::get_if<double>(&number.value)) return builder.scalar(DType::f64, *floating);
  if (const auto* boolean = std::get_if<bool>(&number.value)) return builder.scalar(DType::boolean, std::int64_t{*boolean});
  return builder.scalar(DType::i64, std::get<std::int64_t>(number.value));
}

Value member_value(const Operand& operand, onnx::Builder& builder) {
  if (const Value* tensor = operand.tensor()) return *tensor;
  if (const Number* number = operand.number()) return value_of(*number, builder);
  throw onnx::Refusal{"a list holds what is neither a tensor nor a number"};
}

Value sequence_of(const List& list, DType dtype, onnx::Builder& builder) {
  if (list.items.empty()) return builder.node("SequenceEmpty", {}, {{"dtype", onnx::data_type(dtype)}}, dtype);
  Values members;
  for (const Operand& item : list.items) members.push_back(builder.cast(member_value(item, builder), dtype));
  return builder.node("SequenceConstruct", members);
}

// Adds values of that form that are never read.
void spill_anything(const Operand& form, onnx::Builder& builder, Values& into) {
  const auto zero = [&](const Value& like) { into.push_back(builder.scalar(like.dtype, 0)); };
  if (const Value* tensor = form.tensor()) return zero(*tensor);
  if (const Number* number = form.number()) {
    if (const auto* value = std::get_if<Value>(&number->value)) zero(*value);
  } else if (const List* list = form.list()) {
    for (const Operand& item : list->items) spill_anything(item, builder, into);
  } else if (const auto* vector = std::get_if<Vector>(&form.value)) {
    into.push_back(vector_of({}, vector->value.dtype, builder));
  } else if (const auto* sequence = std::get_if<Sequence>(&form.value)) {
    into.push_back(sequence_of({}, sequence->value.dtype, builder));
  } else if (const auto* quantized = std::get_if<Quantized>(&form.value)) {
    for (const Value& part : {quantized->integers, quantized->scale, quantized->zero_point}) zero(part);
  } else if (const Complex* complex = form.complex()) {
    zero(complex->real), zero(complex->imag);
  }
}

}  // namespace

Value paired(const Complex& complex, std::int64_t rank, onnx::Builder& builder) {
  return builder.concat({builder.unsqueeze(complex.real, {rank}), builder.unsqueeze(complex.imag, {rank})}, rank);
}

Complex parted(const Value& pairs, std::int64_t rank, onnx::Builder& builder) {
  const Value real = builder.gather(pairs, builder.integer(0), rank);
  return {real, builder.gather(pairs, builder.integer(1), rank)};
}

Value vector_of(const List& list, DType dtype, onnx::Builder& builder) {
  const auto joining = builder.plumbing();
  Values parts;
  for (const Operand& item : list.items) parts.push_back(builder.reshape(builder.cast(member_value(item, builder), dtype), {1}));
  return parts.empty() ? builder.constant({.dtype = dtype, .dims = {0}, .bytes = {}, .view = {}}) : builder.concat(parts, 0);
}

Operand value_form(const Operand& operand) {
  if (const Number* number = operand.number()) return {Number{Value{1, number->dtype()}}};
  return operand;
}

std::string kind_of(const Operand& operand) {
  if (const auto* unresolved = std::get_if<Unresolved>(&operand.value))
    return unresolved->type.empty() ? "a value of unknown type" : "a " + unresolved->type;
  if (const auto* known = std::get_if<Known>(&operand.value)) return "a " + ir::to_string(*ir::type_of(known->value));
  if (operand.is_none()) return "None";
  if (operand.tensor()) return "a tensor";
  if (operand.number()) return "a number";
  if (operand.complex()) return "a complex tensor";
  if (std::holds_alternative<Vector>(operand.value)) return "a list of numbers";
  if (std::holds_alternative<Sequence>(operand.value)) return "a list of tensors";
  if (std::holds_alternative<Dict>(operand.value)) return "a dictionary";
  if (std::holds_alternative<Object>(operand.value)) return "an object";
  if (std::holds_alternative<Quantized>(operand.value)) return "a quantized tensor";
  return operand.list() ? "a list or tuple" : "a value that is never read";
}

void spill(const Operand& given, const Operand& form, onnx::Builder& builder, Values& into) {
  if (std::holds_alternative<Uninitialized>(given.value)) return spill_anything(form, builder, into);
  if (const Value* tensor = form.tensor()) return into.push_back(builder.cast(member_value(given, builder), tensor->dtype));
  if (const Number* number = form.number()) {
    if (!std::holds_alternative<Value>(number->value)) return;  // known: needs no value
    return into.push_back(builder.cast(member_value(given, builder), number->dtype()));
  }
  if (const List* list = form.list()) {
    const List* items = given.list();
    if (!items || items->items.size() != list->items.size())
      throw onnx::Refusal{"a list has another length on one path than on the other",
                          "if the function returns in several places, return in one, after the loop"};
    for (std::size_t i = 0; i < list->items.size(); ++i) spill(items->items[i], list->items[i], builder, into);
    return;
  }
  if (const auto* vector = std::get_if<Vector>(&form.value)) {
    if (const auto* same = std::get_if<Vector>(&given.value))
      return into.push_back(builder.cast(same->value, vector->value.dtype));
    if (const List* items = given.list()) return into.push_back(vector_of(*items, vector->value.dtype, builder));
  }
  if (const auto* sequence = std::get_if<Sequence>(&form.value)) {
    if (const auto* same = std::get_if<Sequence>(&given.value)) return into.push_back(same->value);
    if (const List* items = given.list()) return into.push_back(sequence_of(*items, sequence->value.dtype, builder));
  }
  if (std::holds_alternative<Quantized>(form.value)) {
    if (const auto* same = std::get_if<Quantized>(&given.value)) {
      into.insert(into.end(), {same->integers, same->scale, same->zero_point});
      return;
    }
  }
  if (const Complex* complex = form.complex())
    if (const Complex* same = given.complex()) {
      into.push_back(builder.cast(same->real, complex->real.dtype));
      into.push_back(builder.cast(same->imag, complex->imag.dtype));
      return;
    }
  if (form.is_none() && given.is_none()) return;
  if (std::holds_alternative<Known>(form.value) && std::holds_alternative<Known>(given.value)) return;
  const bool open = std::holds_alternative<Unresolved>(form.value);
  const std::string kind = kind_of(open ? form : given), expected = kind_of(form);
  if (kind == expected || std::holds_alternative<Unresolved>(given.value)) throw onnx::Refusal{"ONNX has no value for " + kind};
  throw onnx::Refusal{"a value is " + kind + " on one path and " + expected + " on another, but a value of ONNX has one type"};
}

Operand refill(const Operand& form, const Values& values, std::size_t& at) {
  if (form.tensor()) return {values.at(at++)};
  if (const Number* number = form.number())
    return std::holds_alternative<Value>(number->value) ? Operand{Number{values.at(at++)}} : form;
  if (std::holds_alternative<Vector>(form.value)) return {Vector{values.at(at++)}};
  if (std::holds_alternative<Sequence>(form.value)) return {Sequence{values.at(at++)}};
  if (const auto* quantized = std::get_if<Quantized>(&form.value)) {
    const std::size_t first = std::exchange(at, at + 3);
    return {Quantized{values.at(first), values.at(first + 1), values.at(first + 2), quantized->axis}};
  }
  if (form.complex()) {
    const std::size_t first = std::exchange(at, at + 2);
    return {Complex{values.at(first), values.at(first + 1)}};
  }
  if (const List* list = form.list()) {
    List made;
    for (const Operand& item : list->items) made.items.push_back(refill(item, values, at));
    return {std::move(made)};
  }
  return form;
}

}  // namespace compatcheck::handlers
