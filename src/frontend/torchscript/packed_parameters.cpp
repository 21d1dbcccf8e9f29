// The saved forms: aten/src/ATen/native/quantized/cpu/fbgemm_utils.cpp and conv_serialization.h.
#include "frontend/torchscript/packed_parameters.h"

#include <ATen/ATen.h>
#include <torch/custom_class.h>

#include <algorithm>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

// The slots of such an object: where its content comes from, the content.
enum Slot : std::size_t { origin, content, slots };
constexpr const char* saved_state = "state";

bool ends_with_class(const std::string& name, std::string_view ending) { return name.ends_with(ending); }

c10::IValue make_object(const c10::StrongTypePtr& type, std::string from, c10::IValue holds) {
  auto object = c10::ivalue::Object::create(type, slots);
  object->setSlot(origin, std::move(from));
  object->setSlot(content, std::move(holds));
  return object;
}

// Packed by index: a weight and a bias that may be absent.
PackedParameters linear(const std::vector<c10::IValue>& parts) {
  return {{"weight", "bias"}, {parts.at(0), parts.size() > 1 ? parts[1] : c10::IValue()}};
}

c10::IValue ints(const std::vector<std::int64_t>& values, std::size_t first, std::size_t count) {
  c10::List<std::int64_t> list;
  for (std::size_t i = first; i < first + count; ++i) list.push_back(values.at(i));
  return list;
}

PackedParameters convolution(c10::IValue weight, c10::IValue bias, c10::IValue stride, c10::IValue padding,
                             c10::IValue output_padding, c10::IValue dilation, c10::IValue groups, bool transpose) {
  return {{"weight", "bias", "stride", "padding", "output_padding", "dilation", "groups", "transpose"},
          {std::move(weight), std::move(bias), std::move(stride), std::move(padding), std::move(output_padding),
           std::move(dilation), std::move(groups), transpose}};
}

// Numbers of a convolution in one list: dimensions, stride, padding, dilation, output padding, groups, then flags.
PackedParameters convolution_from_numbers(const std::vector<std::int64_t>& numbers, c10::IValue weight, c10::IValue bias) {
  const std::int64_t dims = numbers.at(0);
  if (dims < 1 || dims > 3) throw ModelError("the state of a packed convolution is damaged");
  const auto d = static_cast<std::size_t>(dims);
  const bool transpose = (numbers.at(2 + 4 * d) & 1) != 0;
  return convolution(std::move(weight), std::move(bias), ints(numbers, 1, d), ints(numbers, 1 + d, d),
                     ints(numbers, 1 + 3 * d, d), ints(numbers, 1 + 2 * d, d), numbers.at(1 + 4 * d), transpose);
}

std::vector<std::int64_t> as_numbers(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.to(at::kLong).contiguous();
  const auto* first = wide.const_data_ptr<std::int64_t>();
  return std::vector<std::int64_t>(first, first + wide.numel());
}

std::vector<c10::IValue> elements(const c10::IValue& tuple) {
  const auto& held = tuple.toTupleRef().elements();
  return std::vector<c10::IValue>(held.begin(), held.end());
}

// Version 2: ("2", [numbers, weight], [bias]); 3: (3, numbers, [unused, weight, bias]).
PackedParameters convolution_from_state(const c10::IValue& state) {
  const std::vector<c10::IValue> parts = elements(state);
  if (parts.size() == 3 && parts[0].isString()) {
    const auto tensors = parts[1].toListRef(), optional = parts[2].toListRef();
    return convolution_from_numbers(as_numbers(tensors.at(0).toTensor()), tensors.at(1), optional.at(0));
  }
  if (parts.size() == 3 && parts[0].isInt()) {
    std::vector<std::int64_t> numbers;
    for (const c10::IValue& number : parts[1].toListRef()) numbers.push_back(number.toInt());
    const auto tensors = parts[2].toListRef();
    return convolution_from_numbers(numbers, tensors.at(1), tensors.at(2));
  }
  return {{"state"}, {state}};
}

// conv_prepack(weight, bias, stride, padding, dilation, groups); a transposed one has output_padding before dilation.
PackedParameters convolution_from_call(const std::string& op, const std::vector<c10::IValue>& a) {
  const bool transpose = op.find("transpose") != op.npos;
  if (transpose) return convolution(a.at(0), a.at(1), a.at(2), a.at(3), a.at(4), a.at(5), a.at(6), true);
  c10::List<std::int64_t> none;
  for (std::size_t i = 0; i < a.at(2).toListRef().size(); ++i) none.push_back(0);
  return convolution(a.at(0), a.at(1), a.at(2), a.at(3), none, a.at(4), a.at(5), false);
}

PackedParameters parts_of_state(const std::string& class_name, const c10::IValue& state) {
  const bool tuple = state.isTuple();
  if (ends_with_class(class_name, "LinearPackedParamsBase") && tuple && state.toTupleRef().size() == 2)
    return linear(elements(state));
  if (class_name.find(".Conv") != class_name.npos && tuple) return convolution_from_state(state);
  if (ends_with_class(class_name, "EmbeddingPackedParamsBase") && tuple && state.toTupleRef().size() == 4)
    return {{"version", "tensors", "doubles", "longs"}, elements(state)};
  if (ends_with_class(class_name, "CellParamsBase") && tuple && state.toTupleRef().size() == 5)
    return {{"type", "tensors", "doubles", "longs", "packed"}, elements(state)};
  return {{"state"}, {state}};
}

std::string class_made_by(const std::string& op) {
  const auto starts = [&](std::string_view name) { return op.starts_with("quantized::" + std::string(name)); };
  const std::string base = std::string(custom_class_prefix) + "quantized.";
  if (!op.ends_with("_prepack") && !op.ends_with("_prepack_fp16")) return {};
  if (starts("linear_prepack")) return base + "LinearPackedParamsBase";
  if (starts("embedding_bag_prepack")) return base + "EmbeddingPackedParamsBase";
  if (starts("conv3d") || starts("conv_transpose3d")) return base + "Conv3dPackedParamsBase";
  if (starts("conv")) return base + "Conv2dPackedParamsBase";  // of one dimension, too
  return {};
}

}  // namespace

bool is_packed_parameters(const c10::ClassType& type) {
  return type.name() && type.name()->qualifiedName().starts_with(custom_class_prefix) && !is_opaque_class(type);
}

bool is_opaque_class(const c10::ClassType& type) {
  if (!type.name() || !type.name()->qualifiedName().starts_with(custom_class_prefix)) return false;
  return torch::getCustomClass(type.name()->qualifiedName()) == nullptr;
}

c10::IValue packed_from_state(const c10::StrongTypePtr& type, c10::IValue state) {
  return make_object(type, saved_state, std::move(state));
}

std::optional<c10::IValue> packed_from_call(const std::string& op, const std::vector<c10::IValue>& arguments) {
  const std::string made = class_made_by(op);
  if (made.empty()) return std::nullopt;
  const auto type = torch::getCustomClass(made);
  if (!type) return std::nullopt;
  return make_object(c10::StrongTypePtr(nullptr, type), op, c10::ivalue::Tuple::create(arguments));
}

PackedParameters unpack(const c10::ivalue::Object& object) {
  if (object.slots().size() != slots) return {};
  const std::string from = object.getSlot(origin).toStringRef();
  const std::string class_name = object.type()->name()->qualifiedName();
  if (from == saved_state) return parts_of_state(class_name, object.getSlot(content));
  const auto arguments = elements(object.getSlot(content));
  if (from.starts_with("quantized::conv")) return convolution_from_call(from, arguments);
  return linear(arguments);
}

void describe_class(const PackedParameters& packed, ir::Class& made, const std::string& name, Types& types) {
  if (!made.name.empty()) return;
  made.name = name;
  for (std::size_t i = 0; i < packed.names.size(); ++i) {
    const c10::IValue& value = packed.values[i];
    ir::TypeRef type = value.isTensor() ? ir::tensor_type() : types.convert(value.type());
    if (packed.names[i] == "bias") type = ir::optional_of(ir::tensor_type());
    made.attributes.push_back({packed.names[i], std::move(type), false, false});
  }
}

}  // namespace compatcheck::frontend::torchscript
