// The saved forms: aten/src/ATen/native/quantized/cpu/fbgemm_utils.cpp and conv_serialization.h.
#include "frontend/native/packed_parameters.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "frontend/native/definitions.h"

namespace compatcheck::frontend::native {
namespace {

using ir::Constant;
using ir::Constants;

[[noreturn]] void damaged() { throw ModelError("the state of packed parameters is damaged"); }

const Constant& part(const Constants& parts, std::size_t place) {
  if (place >= parts.size()) damaged();
  return parts[place];
}

const Constants& items(const Constant& container) {
  if (const auto* tuple = container.get<ir::TupleConstant>()) return tuple->items;
  if (const auto* list = container.get<ir::ListConstant>()) return list->items;
  damaged();
}

Constant list_of_integers(std::vector<std::int64_t> values) {
  ir::ListConstant made{ir::simple_type(ir::TypeKind::integer), {}};
  for (const std::int64_t value : values) made.items.push_back({value});
  return {std::move(made)};
}

PackedParameters linear(std::string name, const Constants& parts) {
  return {std::move(name), {"weight", "bias"}, {part(parts, 0), parts.size() > 1 ? parts[1] : Constant{}}};
}

PackedParameters convolution(std::string name, Constants values) {
  return {std::move(name),
          {"weight", "bias", "stride", "padding", "output_padding", "dilation", "groups", "transpose"},
          std::move(values)};
}

// Numbers of a convolution in one list: dimensions, stride, padding, dilation, output padding, groups, then flags.
PackedParameters convolution_of(const std::string& name, const std::vector<std::int64_t>& numbers, const Constant& weight,
                                const Constant& bias) {
  const auto d = numbers.empty() ? 0 : static_cast<std::size_t>(std::clamp<std::int64_t>(numbers[0], 0, 4));
  if (d < 1 || d > 3 || numbers.size() < 3 + 4 * d) damaged();
  const auto group = [&](std::size_t place) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(1 + place * d);
    return list_of_integers({begin, begin + static_cast<std::ptrdiff_t>(d)});
  };
  const bool transpose = (numbers[2 + 4 * d] & 1) != 0;
  return convolution(name, {weight, bias, group(0), group(1), group(3), group(2), {numbers[1 + 4 * d]}, {transpose}});
}

// Version 2: ("2", [numbers, weight], [bias]); 3: (3, numbers, [unused, weight, bias]).
PackedParameters convolution_from_state(const std::string& name, const Constant& state, const ReadIntegers& read) {
  const Constants& parts = items(state);
  if (parts.size() == 3 && parts[0].get<std::string>()) {
    const Constants& tensors = items(parts[1]);
    const auto* numbers = part(tensors, 0).get<ir::TensorView>();
    if (!numbers) damaged();
    return convolution_of(name, read(*numbers), part(tensors, 1), part(items(parts[2]), 0));
  }
  if (parts.size() == 3 && parts[0].get<std::int64_t>()) {
    const auto numbers = ir::as_ints(parts[1]);
    if (!numbers) damaged();
    const Constants& tensors = items(parts[2]);
    return convolution_of(name, *numbers, part(tensors, 1), part(tensors, 2));
  }
  return {name, {"state"}, {state}};
}

// conv_prepack(weight, bias, stride, padding, dilation, groups); a transposed one has output_padding before dilation.
PackedParameters convolution_from_call(const std::string& name, bool transpose, const Constants& a) {
  if (transpose)
    return convolution(name, {part(a, 0), part(a, 1), part(a, 2), part(a, 3), part(a, 4), part(a, 5), part(a, 6), {true}});
  const Constant none = list_of_integers(std::vector<std::int64_t>(items(part(a, 2)).size(), 0));
  return convolution(name, {part(a, 0), part(a, 1), part(a, 2), part(a, 3), none, part(a, 4), part(a, 5), {false}});
}

}  // namespace

bool is_packed_parameters(std::string_view name) {
  if (!name.starts_with(custom_class_prefix)) return false;
  name.remove_prefix(custom_class_prefix.size());
  static constexpr std::string_view registered[] = {"quantized.LinearPackedParamsBase",
                                                    "quantized.Conv2dPackedParamsBase",
                                                    "quantized.Conv3dPackedParamsBase",
                                                    "quantized.EmbeddingPackedParamsBase",
                                                    "rnn.CellParamsBase",
                                                    "sparse.LinearPackedParamsBase",
                                                    "xnnpack.LinearOpContext",
                                                    "xnnpack.Conv2dOpContext",
                                                    "xnnpack.TransposeConv2dOpContext",
                                                    "mkldnn.ConvOpContext"};
  return std::ranges::find(registered, name) != std::end(registered);
}

// Source: the registrations in aten/src/ATen/native/quantized/cpu/fbgemm_utils.cpp.
ir::TypeRef method_of_packed(std::string_view class_name, std::string_view method) {
  using ir::TypeKind;
  if (!is_packed_parameters(class_name)) return nullptr;
  const ir::TypeRef integer = ir::simple_type(TypeKind::integer);
  if (method == "unpack") {
    if (class_name.ends_with("EmbeddingPackedParamsBase")) return ir::tensor_type();
    return ir::tuple_of({ir::tensor_type(), ir::optional_of(ir::tensor_type())});
  }
  if (method == "bias" && class_name.find("Linear") != class_name.npos) return ir::optional_of(ir::tensor_type());
  if (method == "groups" || method == "bit_rate" || method == "version") return integer;
  if (method == "transpose") return ir::simple_type(TypeKind::boolean);
  static constexpr std::string_view lists[] = {"stride", "padding", "output_padding", "dilation"};
  return std::ranges::find(lists, method) != std::end(lists) ? ir::list_of(integer) : nullptr;
}

std::string class_made_by(std::string_view op) {
  const std::string base = std::string(custom_class_prefix) + "quantized.";
  const auto starts = [&](std::string_view name) { return op.starts_with(name); };
  if (!op.ends_with("_prepack") && !op.ends_with("_prepack_fp16")) return {};
  if (starts("quantized::linear_prepack")) return base + "LinearPackedParamsBase";
  if (starts("quantized::embedding_bag_prepack")) return base + "EmbeddingPackedParamsBase";
  if (starts("quantized::conv3d") || starts("quantized::conv_transpose3d")) return base + "Conv3dPackedParamsBase";
  if (starts("quantized::conv")) return base + "Conv2dPackedParamsBase";  // for conv1d, too
  return {};
}

PackedParameters packed_from_state(const std::string& name, const Constant& state, const ReadIntegers& read) {
  const auto* tuple = state.get<ir::TupleConstant>();
  const std::size_t size = tuple ? tuple->items.size() : 0;
  if (name.ends_with("LinearPackedParamsBase") && size == 2) return linear(name, tuple->items);
  if (name.find(".Conv") != name.npos && tuple) return convolution_from_state(name, state, read);
  if (name.ends_with("EmbeddingPackedParamsBase") && size == 4)
    return {name, {"version", "tensors", "doubles", "longs"}, tuple->items};
  if (name.ends_with("CellParamsBase") && size == 5)
    return {name, {"type", "tensors", "doubles", "longs", "packed"}, tuple->items};
  return {name, {"state"}, {state}};
}

std::optional<PackedParameters> packed_from_call(const std::string& op, const Constants& arguments) {
  const std::string made = class_made_by(op);
  if (made.empty()) return std::nullopt;
  if (op.starts_with("quantized::conv")) return convolution_from_call(made, op.find("transpose") != op.npos, arguments);
  return linear(made, arguments);
}

}  // namespace compatcheck::frontend::native
