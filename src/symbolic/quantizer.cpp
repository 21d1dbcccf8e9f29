#include "symbolic/quantizer.h"

#include <algorithm>
#include <cmath>

#include "ir/quantized.h"
#include "schema/traits.h"

namespace compatcheck::symbolic {
namespace {

// The first argument, or the first member of a list.
const TensorFact* first_quantized(const Call& call) {
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    const Fact& fact = call.input(i);
    const TensorFact* tensor = fact.tensor();
    if (const auto* list = fact.list(); list && list->items && !list->items->empty()) tensor = list->items->front().tensor();
    if (tensor) return tensor;
  }
  return nullptr;
}

// The argument that states the scale or the zero point of the result. Its name varies. `quantized::elu` states the numbers of the
// result as output_scale and output_zero_point; other operators state them last.
std::string_view named_like(const Call& call, std::string_view word) {
  std::string_view found;
  for (const auto& argument : call.node().schema()->arguments) {
    if (argument.name == "output_" + std::string(word)) return argument.name;
    if (argument.name.find(word) != std::string::npos) found = argument.name;
  }
  return found;
}

// Functions that have a fixed scale in 8 bits have another one in 32.
bool passes_on(const Call& call, ir::DType dtype) {
  using enum schema::Trait;
  for (const schema::Trait trait : {keeps_scale, keeps_integers, dequantizes, same_scale})
    if (schema::has_trait(schema::without_in_place(call.op()), trait))
      return trait != dequantizes || ir::quantizes_to_8_bits(dtype);
  return false;
}

// The zero points of a quantized result; null if they aren't known.
std::optional<std::vector<Dim>> zero_points(const Call& call, const Fact& result) {
  if (call.has("zero_points")) {
    const auto* tensor = call.tensor("zero_points");
    return tensor ? tensor->contents : std::nullopt;
  }
  const ir::Quantizer* known = known_quantizer(result);
  if (!known) return std::nullopt;
  if (!known->per_channel) return std::vector<Dim>{known->zero_point};
  return std::vector<Dim>(known->zero_points.begin(), known->zero_points.end());
}

bool is_halfway(double number, double scale) {
  constexpr double noise = 1e-3;  // of float32
  const double steps = number / scale;
  return std::abs(std::abs(steps - std::trunc(steps)) - 0.5) < noise;
}

// Calls that move integers, or compare them with numbers, round nothing but these numbers.
bool rounds_a_number(const Call& call, const ir::Quantizer& quantizer) {
  if (call.has("b") && !call.fact("b").tensor()) {
    const auto made = with_number(call);
    return !made || made->integers == WithNumber::Integers::moved;
  }
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    const auto* list = call.input(i).list();
    if (!list || !list->items || list->items->empty() || !list->items->front().tensor()) continue;
    return !std::ranges::all_of(*list->items, [&](const Fact& item) {
      const ir::Quantizer* known = known_quantizer(item);
      return known && *known == quantizer;
    });
  }
  if (call.op().ends_with("relu6")) return is_halfway(6, quantizer.scale);
  bool any = false;
  for (const char* name : {"min", "max", "min_val", "max_val", "threshold", "value"}) {
    if (!call.has(name)) continue;
    any = true;
    if (call.is_none(name)) continue;
    const auto number = number_argument(call, name);
    if (!number || is_halfway(*number, quantizer.scale)) return true;
  }
  return !any;
}

}  // namespace

bool may_round_otherwise(const Call& call) {
  if (!schema::has_trait(schema::without_in_place(call.op()), schema::Trait::shifts_first)) return false;
  return std::ranges::any_of(call.node().outputs(), [&](const ir::Value* output) {
    const Fact& result = call.facts().of(output);
    const auto* tensor = result.tensor();
    if (!tensor || !tensor->dtype || !ir::is_quantized(*tensor->dtype)) return false;
    const auto zeros = zero_points(call, result);
    const auto is_even = [](const Dim& zero) { return zero.number() && *zero.number() % 2 == 0; };
    if (zeros && std::ranges::all_of(*zeros, is_even)) return false;
    const ir::Quantizer* known = known_quantizer(result);
    return !known || rounds_a_number(call, *known);
  });
}

std::optional<double> number_argument(const Call& call, std::string_view argument) {
  const TensorFact* tensor = call.fact(argument).tensor();
  if (!tensor) return call.number(argument);
  if (tensor->fraction) return tensor->fraction;
  if (!tensor->contents || tensor->contents->size() != 1) return std::nullopt;
  const auto whole = tensor->contents->front().number();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

bool states_numbers(const ir::Quantizer& quantizer) {
  return !quantizer.per_channel || (!quantizer.scales.empty() && quantizer.float_zero_points.empty());
}

const ir::Quantizer* known_quantizer(const Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->quantizer && states_numbers(*tensor->quantizer) ? tensor->quantizer.get() : nullptr;
}

bool lacks_scale(const Fact& fact) {
  const TensorFact* tensor = fact.tensor();
  return tensor && tensor->dtype && ir::is_quantized(*tensor->dtype) && !tensor->quantizer;
}

std::optional<ir::Quantizer> fixed_quantizer(std::string_view op, ir::DType dtype) {
  if (!ir::quantizes_to_8_bits(dtype)) return std::nullopt;
  const std::string_view name = schema::without_in_place(op);
  const bool is_signed = dtype == ir::DType::qi8;
  if (name == "aten::sigmoid" || name == "aten::hardsigmoid")
    return ir::Quantizer{.scale = 1.0 / 256, .zero_point = is_signed ? -128 : 0};
  if (name == "aten::tanh") return ir::Quantizer{.scale = 2.0 / 256, .zero_point = is_signed ? 0 : 128};
  return std::nullopt;
}

// Source: aten/src/ATen/native/quantized/cpu/qadd.cpp and qmul.cpp of pytorch.
std::optional<WithNumber> with_number(const Call& call) {
  const TensorFact* tensor = call.tensor("qa");
  const auto number = number_argument(call, "b");
  if (!tensor || !tensor->dtype || !tensor->quantizer || tensor->quantizer->per_channel || !number) return std::nullopt;
  if (!ir::quantizes_to_8_bits(*tensor->dtype)) return std::nullopt;
  const auto [least, greatest] = *ir::integer_range(*tensor->dtype);
  const double scale = tensor->quantizer->scale;
  const std::int64_t zero_point = tensor->quantizer->zero_point;
  using enum WithNumber::Integers;
  if (call.op().find("::mul") != std::string_view::npos) {
    if (*number == 0) return WithNumber{.integers = zero, .quantizer = {.scale = 1, .zero_point = 0}};
    if (*number > 0) return WithNumber{.integers = same, .quantizer = {.scale = scale * *number, .zero_point = zero_point}};
    return WithNumber{.integers = mirrored,
                      .quantizer = {.scale = -scale * *number, .zero_point = least + greatest - zero_point}};
  }
  const double steps = std::nearbyint(*number / scale);
  if (!(std::abs(steps) < 1e9)) return std::nullopt;
  const auto added = static_cast<std::int64_t>(steps);
  const auto steps_in_all = static_cast<double>(greatest - least);
  if (least > zero_point - added)
    return WithNumber{
        .integers = moved,
        .quantizer = {.scale = static_cast<double>(greatest - (zero_point - added)) / steps_in_all * scale, .zero_point = least},
        .added = added};
  if (greatest < zero_point - added)
    return WithNumber{
        .integers = moved,
        .quantizer = {.scale = static_cast<double>(zero_point - added - least) / steps_in_all * scale, .zero_point = greatest},
        .added = added};
  return WithNumber{.integers = same, .quantizer = {.scale = scale, .zero_point = zero_point - added}};
}

std::shared_ptr<const ir::Quantizer> quantizer_of(const Call& call, ir::DType dtype) {
  if (!call.node().schema()) return nullptr;
  if (const auto fixed = fixed_quantizer(call.op(), dtype)) return std::make_shared<const ir::Quantizer>(*fixed);
  if (call.op() == "aten::quantize_per_channel") {
    const auto axis = call.integer("axis");
    return axis ? std::make_shared<const ir::Quantizer>(ir::Quantizer{.per_channel = true, .axis = *axis}) : nullptr;
  }
  if (call.op().starts_with("quantized::") && call.has("b")) {
    const auto made = with_number(call);
    return made ? std::make_shared<const ir::Quantizer>(made->quantizer) : nullptr;
  }
  const std::string_view scale = named_like(call, "scale"), zero_point = named_like(call, "zero_point");
  const bool states = !scale.empty() && !zero_point.empty() && !call.is_none(scale);
  if (states && (call.op() == "aten::quantize_per_tensor" || call.op().starts_with("quantized::"))) {
    const auto scaled = number_argument(call, scale), zero = number_argument(call, zero_point);
    if (!scaled || !zero) return nullptr;
    return std::make_shared<const ir::Quantizer>(ir::Quantizer{.scale = *scaled, .zero_point = static_cast<std::int64_t>(*zero)});
  }
  if (!passes_on(call, dtype)) return nullptr;
  const TensorFact* first = first_quantized(call);
  return first && first->quantizer && !first->quantizer->per_channel ? first->quantizer : nullptr;
}

}  // namespace compatcheck::symbolic
