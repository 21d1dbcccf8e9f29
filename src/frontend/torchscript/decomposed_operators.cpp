#include "frontend/torchscript/decomposed_operators.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>
#include <map>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;
using Arguments = std::vector<IValue>;
using at::Tensor;
constexpr std::string_view decomposed = "quantized_decomposed::";

at::Scalar number(const IValue& value) { return value.isTensor() ? value.toTensor().item() : value.toScalar(); }
bool is_given(const Arguments& a, std::size_t i) { return i < a.size() && !a[i].isNone(); }
at::ScalarType dtype_at(const Arguments& a, std::size_t i, at::ScalarType otherwise = at::kFloat) {
  return is_given(a, i) ? a[i].toScalarType() : otherwise;
}

Tensor in_single_precision(const IValue& value) {
  const Tensor input = value.toTensor();
  const bool half = input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16;
  if (!half && input.scalar_type() != at::kFloat) throw ModelError("a tensor of floats is expected to be quantized");
  return half ? input.to(at::kFloat) : input;
}

// Returns a vector over `axis` in a shape that broadcasts against a tensor.
Tensor along(const Tensor& vector, const Tensor& tensor, std::int64_t axis) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(tensor.dim()), 1);
  sizes.at(static_cast<std::size_t>(axis < 0 ? axis + tensor.dim() : axis)) = -1;
  return vector.view(sizes);
}

Arguments quantize_per_tensor(const Arguments& a) {
  const Tensor steps = at::round(in_single_precision(a.at(0)) * (1.0 / number(a.at(1)).toDouble())) + number(a.at(2));
  return {at::clamp(steps, number(a.at(3)), number(a.at(4))).to(dtype_at(a, 5))};
}

Arguments dequantize_per_tensor(const Arguments& a) {
  return {(a.at(0).toTensor().to(dtype_at(a, 6)) - number(a.at(2))) * number(a.at(1))};
}

Arguments quantize_per_channel(const Arguments& a) {
  const Tensor input = in_single_precision(a.at(0));
  const std::int64_t axis = a.at(3).toInt();
  const Tensor steps = at::round(input * (1.0 / along(a[1].toTensor(), input, axis))) + along(a[2].toTensor(), input, axis);
  return {at::clamp(steps, number(a.at(4)), number(a.at(5))).to(dtype_at(a, 6))};
}

Arguments dequantize_per_channel(const Arguments& a) {
  Tensor steps = a.at(0).toTensor();
  const std::int64_t axis = a.at(3).toInt();
  if (is_given(a, 2)) steps = steps - along(a[2].toTensor(), steps, axis);
  return {(steps * along(a[1].toTensor(), steps, axis)).to(dtype_at(a, 7))};
}

Tensor in_steps(const Tensor& input, const Tensor& scales, const Tensor& zero_points, const Arguments& a) {
  const Tensor steps = input.mul(1.0 / scales).add(zero_points).round();
  return steps.clamp(number(a.at(3)), number(a.at(4))).to(dtype_at(a, 5));
}

Arguments quantize_per_token(const Arguments& a) {
  return {in_steps(a.at(0).toTensor(), a.at(1).toTensor(), a.at(2).toTensor(), a)};
}

Arguments dequantize_per_token(const Arguments& a) {
  return {((a.at(0).toTensor() - a.at(2).toTensor()) * a.at(1).toTensor()).to(dtype_at(a, 6))};
}

Tensor in_groups(const Tensor& tensor, const Tensor& scales, std::int64_t size) {
  return tensor.reshape({-1, size > tensor.size(-1) && scales.size(-1) == 1 ? tensor.size(-1) : size});
}

Arguments quantize_per_channel_group(const Arguments& a) {
  const Tensor input = a.at(0).toTensor(), scales = a.at(1).toTensor();
  const Tensor rows = in_groups(input, scales, a.at(6).toInt());
  return {in_steps(rows, scales.reshape({-1, 1}), a.at(2).toTensor().reshape({-1, 1}), a).reshape_as(input)};
}

Arguments dequantize_per_channel_group(const Arguments& a) {
  const Tensor input = a.at(0).toTensor(), scales = a.at(1).toTensor();
  const Tensor zero_points = is_given(a, 2) ? a[2].toTensor().reshape({-1, 1}) : at::zeros({}, at::kInt);
  const Tensor rows = in_groups(input, scales, a.at(6).toInt()).sub(zero_points).mul(scales.reshape({-1, 1}));
  return {rows.reshape_as(input).to(dtype_at(a, 7))};
}

Arguments fake_quant_per_channel(const Arguments& a) {
  const Tensor input = a.at(0).toTensor();
  const std::int64_t axis = a.at(3).toInt();
  const Tensor scales = along(a.at(1).toTensor().to(at::kFloat), input, axis);
  const Tensor zero_points = along(a.at(2).toTensor().to(at::kInt), input, axis);
  const Tensor steps = at::round(input * (1.0 / scales)) + zero_points;
  return {(at::clamp(steps, number(a.at(4)), number(a.at(5))) - zero_points) * scales};
}

struct Extent {
  Tensor least, greatest;  // 0 is between them
};

Extent with_zero(const Tensor& least, const Tensor& greatest) {
  return {at::minimum(least, at::zeros_like(least)), at::maximum(greatest, at::zeros_like(greatest))};
}

Extent extent_of(const Arguments& a) {
  const auto [least, greatest] = at::aminmax(a.at(0).toTensor());
  return with_zero(least, greatest);
}

Tensor at_least_eps(const Tensor& scale, const Arguments& a) {
  return at::maximum(scale, at::full({1}, number(a.at(3)), at::kFloat));
}

Arguments choose_qparams(const Arguments& a) {
  const std::int64_t low = a.at(1).toInt(), high = a.at(2).toInt();
  const auto [least, greatest] = extent_of(a);
  const Tensor scale = at_least_eps((greatest - least) / static_cast<double>(high - low), a);
  const Tensor zero_point = at::clamp(low - at::round(least / scale).to(at::kInt), low, high);
  return {scale.to(at::kDouble), zero_point.to(at::kLong)};
}

Arguments choose_qparams_symmetric(const Arguments& a) {
  const auto [least, greatest] = extent_of(a);
  const double steps = static_cast<double>(a.at(2).toInt() - a.at(1).toInt()) / 2;
  const std::int64_t zero_point = dtype_at(a, 4) == at::kByte ? 128 : 0;
  return {at_least_eps(at::maximum(-least, greatest) / steps, a).to(at::kDouble), at::full({1}, zero_point, at::kLong)};
}

Arguments choose_qparams_per_token(const Arguments& a) {
  Tensor reach = a.at(0).toTensor().abs().amax({-1}, true);
  if (reach.scalar_type() == at::kHalf) reach = reach.to(at::kFloat);
  const Tensor scales = reach.clamp(1e-5).div(127);
  return {scales, at::zeros_like(scales)};
}

Arguments choose_qparams_per_token_asymmetric(const Arguments& a) {
  const Tensor input = a.at(0).toTensor();
  const auto [least, greatest] = with_zero(input.amin({-1}, true), input.amax({-1}, true));
  const Tensor scales = ((greatest - least) / 255.0).clamp(static_cast<double>(std::numeric_limits<float>::epsilon()));
  const Tensor below = least / scales, above = greatest / scales;
  const Tensor zero_points = at::where((-128 + below) + (127 + above) > 0, -128 - below, 127 - above);
  return {scales.to(at::kDouble), at::clamp(zero_points, -128, 127).round().to(at::kLong)};
}

Arguments convert_element_type(const Arguments& a) { return {a.at(0).toTensor().to(dtype_at(a, 1))}; }

}  // namespace

bool is_decomposed(std::string_view op) { return op.starts_with(decomposed); }

std::vector<IValue> call_decomposed(const std::string& op, const std::vector<IValue>& arguments) {
  static const std::map<std::string_view, Arguments (*)(const Arguments&)> functions{
      {"quantize_per_tensor", quantize_per_tensor},
      {"dequantize_per_tensor", dequantize_per_tensor},
      {"quantize_per_channel", quantize_per_channel},
      {"dequantize_per_channel", dequantize_per_channel},
      {"quantize_per_token", quantize_per_token},
      {"dequantize_per_token", dequantize_per_token},
      {"quantize_per_channel_group", quantize_per_channel_group},
      {"dequantize_per_channel_group", dequantize_per_channel_group},
      {"fake_quant_per_channel", fake_quant_per_channel},
      {"choose_qparams", choose_qparams},
      {"choose_qparams_symmetric", choose_qparams_symmetric},
      {"choose_qparams_per_token", choose_qparams_per_token},
      {"choose_qparams_per_token_asymmetric", choose_qparams_per_token_asymmetric},
      {"_choose_qparams_per_token_asymmetric_impl", choose_qparams_per_token_asymmetric},
      {"convert_element_type", convert_element_type}};
  const auto function = functions.find(std::string_view(op).substr(decomposed.size()));
  if (function == functions.end()) throw ModelError(op + " is not implemented: it can't be run");
  return function->second(arguments);
}

}  // namespace compatcheck::frontend::torchscript
