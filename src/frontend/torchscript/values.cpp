#include "frontend/torchscript/values.h"

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>

#include "compatcheck/error.h"
#include "frontend/torchscript/packed_parameters.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t deepest_value = 900;  // below snapshot.h's deepest_nesting
constexpr std::size_t most_values = 2'000'000;
constexpr std::size_t text_of_a_value = 128;  // a longer text counts as several values

struct Depth {
  std::size_t& depth;
  explicit Depth(std::size_t& counted) : depth(counted) {
    if (++depth > deepest_value) throw ModelError("a value of the model is nested more than 900 deep, or holds itself");
  }
  ~Depth() { --depth; }
};

// The state of a convolution begins with a tensor of numbers: ("2", [numbers, weight], [bias]).
std::vector<std::int64_t> packed_numbers(const c10::IValue& state) {
  const at::Tensor numbers = state.toTupleRef().elements().at(1).toListRef().at(0).toTensor().to(at::kLong).contiguous();
  const auto* first = numbers.const_data_ptr<std::int64_t>();
  return {first, first + numbers.numel()};
}

void describe_class(const native::PackedParameters& packed, ir::Class& made) {
  if (!made.name.empty()) return;
  made.name = packed.class_name;
  for (std::size_t i = 0; i < packed.names.size(); ++i) {
    const bool tensor = packed.values[i].get<ir::TensorView>() != nullptr;
    ir::TypeRef type = tensor ? ir::tensor_type() : ir::type_of(packed.values[i]);
    if (packed.names[i] == "bias") type = ir::optional_of(ir::tensor_type());
    made.attributes.push_back({packed.names[i], std::move(type), false, false});
  }
}

}  // namespace

ir::Constant Values::convert(const c10::IValue& value) {
  const Depth nested(depth_);
  converted_ += 1 + (value.isString() ? value.toStringRef().size() / text_of_a_value : 0);
  if (converted_ > most_values) throw ModelError("the model holds more than 2,000,000 values beside its tensors");
  if (value.isNone()) return {};
  if (value.isTensor()) return weights_.convert(value.toTensor());
  if (value.isBool()) return {value.toBool()};
  if (value.isInt()) return {value.toInt()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isComplexDouble()) return {std::complex<double>(value.toComplexDouble())};
  if (value.isString()) return {value.toStringRef()};
  if (value.isDevice()) return {ir::DeviceConstant{value.toDevice().str()}};
  if (value.isList()) return convert_list(value);
  if (value.isTuple()) return convert_tuple(value);
  if (value.isGenericDict()) return convert_dict(value);
  if (value.isEnum()) {
    const auto holder = value.toEnumHolder();
    return {ir::EnumConstant{holder->type()->qualifiedClassName().qualifiedName(), holder->name(),
                             std::make_shared<const ir::Constant>(convert(holder->value()))}};
  }
  if (value.isObject()) {
    const auto held = value.toObject();
    if (is_opaque_class(*held->type())) return {ir::OpaqueConstant{held->type()->name()->qualifiedName()}};
    return {ir::ObjectConstant{object(held)}};
  }
  return {ir::OpaqueConstant{value.type()->str()}};
}

// The same number for the same list or dictionary.
ir::ContainerIdentity Values::identity(const c10::IValue& container) {
  return containers_.emplace(container.internalToPointer(), static_cast<ir::ContainerIdentity>(containers_.size() + 1))
      .first->second;
}

ir::Constant Values::convert_list(const c10::IValue& value) {
  const auto list = value.toList();
  ir::ListConstant made{types_.convert(list.elementType()), {}, identity(value)};
  made.items.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) made.items.push_back(convert(list.get(i)));
  return {std::move(made)};
}

ir::Constant Values::convert_tuple(const c10::IValue& value) {
  const auto& tuple = value.toTupleRef();
  ir::TupleConstant made;
  for (const c10::IValue& element : tuple.elements()) made.items.push_back(convert(element));
  made.type = types_.convert(value.type());
  return {std::move(made)};
}

ir::Constant Values::convert_dict(const c10::IValue& value) {
  const auto dict = value.toGenericDict();
  ir::DictConstant made{types_.convert(dict.keyType()), types_.convert(dict.valueType()), {}};
  made.identity = identity(value);
  made.items.reserve(dict.size());
  for (const auto& entry : dict) made.items.emplace_back(convert(entry.key()), convert(entry.value()));
  return {std::move(made)};
}

std::uint32_t Values::object(const c10::intrusive_ptr<c10::ivalue::Object>& held) {
  const auto [found, fresh] = objects_.emplace(held.get(), static_cast<std::uint32_t>(program_.objects.size()));
  const std::uint32_t index = found->second;
  if (!fresh) return index;
  program_.objects.emplace_back();
  const auto type = held->type();
  ir::Object made;
  made.class_name = type->name()->qualifiedName();
  if (is_packed_parameters(*type)) {
    native::PackedParameters packed = packed_parameters(made.class_name, *held);
    describe_class(packed, program_.classes[made.class_name]);
    made.attributes = std::move(packed.values);
  } else {
    types_.convert(type);  // its class belongs to the program
    for (std::size_t i = 0; i < type->numAttributes(); ++i)
      made.attributes.push_back(i < held->slots().size() ? convert(held->getSlot(i)) : ir::Constant{});
  }
  program_.objects[index] = std::move(made);
  return index;
}

native::PackedParameters Values::packed_parameters(const std::string& class_name, const c10::ivalue::Object& held) {
  const PackedContent content = content_of(held);
  const ir::Constant state = convert(content.held);
  if (content.op.empty())
    return native::packed_from_state(class_name, state, [&](const ir::TensorView&) { return packed_numbers(content.held); });
  const auto* arguments = state.get<ir::TupleConstant>();
  auto packed = arguments ? native::packed_from_call(content.op, arguments->items) : std::nullopt;
  if (!packed) throw ModelError("the arguments of " + content.op + " are damaged");
  packed->class_name = class_name;
  return std::move(*packed);
}

}  // namespace compatcheck::frontend::torchscript
