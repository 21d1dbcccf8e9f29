// PyTorch's demands on the dtypes of a call's tensors together, where it doesn't promote them. Learnt from its CPU kernels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Verdict of_one_dtype(const Call& call, std::initializer_list<std::string_view> arguments) {
  Demands demands;
  demands.one_dtype(call, arguments);
  return demands.verdict();
}

// All but `out`.
Verdict one_dtype(const Call& call) {
  Demands demands;
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i)
    if (!arguments[i].keyword_only) demands.one_dtype(call.input(i), arguments[i].name);
  return demands.verdict();
}

// A mask may be of bools.
Verdict one_dtype_but_mask(const Call& call) {
  Demands demands;
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i)
    if (arguments[i].name != "mask") demands.one_dtype(call.input(i), arguments[i].name);
  return demands.verdict();
}

// The values written must have the dtype of the tensor that they are written to.
Verdict source_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "src", "source", "values"}); }

// The rest, a bias for example, may differ.
Verdict weight_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "input", "weight", "per_sample_weights"}); }

Verdict target_has_dtype(const Call& call) { return of_one_dtype(call, {"self", "target"}); }

Verdict keys_have_dtype(const Call& call) { return of_one_dtype(call, {"query", "key", "value"}); }

// A narrow input may come with parameters in f32, all of them.
Verdict parameters_have_dtype(const Call& call) {
  constexpr std::string_view parameters[] = {"weight", "bias", "running_mean", "running_var"};
  const auto input = call.dtype_of("input");
  const auto wide = [&](std::string_view name) {
    return call.is_none(name) || !call.dtype_of(name) || call.dtype_of(name) == DType::f32;
  };
  const bool widened = (input == DType::f16 || input == DType::bf16) && std::ranges::all_of(parameters, wide);
  Demands demands;
  if (!widened) demands.one_dtype(call, {"input"});
  for (const std::string_view parameter : parameters) demands.one_dtype(call, {parameter});
  return demands.verdict();
}

// The matrices of recurrent layers and their operands. Biases and the cell's state may differ.
Verdict matrices_have_dtype(const Call& call) {
  Demands demands;
  demands.one_dtype(call, {"input", "data", "w_ih", "w_hh"});
  const auto states = call.list("hx"), weights = call.list("params");
  if (states && !states->empty())
    demands.one_dtype(*states->front(), "hx");
  else
    demands.one_dtype(call, {"hx"});
  if (!weights) return demands.verdict();
  for (const Fact* weight : *weights)
    if (const auto* tensor = weight->tensor(); tensor && tensor->shape && tensor->shape->size() == 2)
      demands.one_dtype(*weight, "params");
  return demands.verdict();
}

// One step: of its biases, too.
Verdict cell_has_dtype(const Call& call) {
  const Verdict verdict = of_one_dtype(call, {"input", "w_ih", "w_hh", "b_ih", "b_hh"});
  return verdict.truth == Truth::no ? verdict : matrices_have_dtype(call);
}

bool is_whole(DType dtype) { return !ir::is_floating(dtype) && !ir::is_complex(dtype); }

bool is_bool(const Fact& fact) {
  if (const auto* number = fact.number()) return number->kind == NumberFact::Kind::boolean;
  return fact.tensor() && fact.tensor()->dtype == DType::boolean;
}

// Checks add, sub and rsub: bools aren't subtracted, and `alpha` is of the result's kind.
Verdict terms_fit(const Call& call) {
  Demands demands;
  const Fact &self = call.fact("self"), &other = call.fact("other");
  if (!self.tensor() && !other.tensor()) return demands.verdict();
  if (!call.op().ends_with("add") && (is_bool(self) || is_bool(other))) demands.broken("bools aren't subtracted");
  Promotion promotion;
  promotion.add(self);
  promotion.add(other);
  const auto result = promotion.result();
  const auto* alpha = call.has("alpha") ? call.fact("alpha").number() : nullptr;
  if (!result || !alpha) return demands.verdict();
  if (alpha->kind == NumberFact::Kind::floating && is_whole(*result)) demands.broken("'alpha' is a float, the sum isn't");
  if (alpha->kind == NumberFact::Kind::boolean && *result != DType::boolean) demands.broken("'alpha' is a bool, the sum isn't");
  return demands.verdict();
}

// Checks addr: `beta` and `alpha` may be floats only for floating tensors.
Verdict factors_fit(const Call& call) {
  Demands demands;
  bool whole = true;
  for (const char* name : {"self", "vec1", "vec2"}) whole = whole && call.dtype_of(name) && is_whole(*call.dtype_of(name));
  for (const char* name : {"beta", "alpha"}) {
    const auto* number = call.has(name) ? call.fact(name).number() : nullptr;
    if (whole && number && number->kind == NumberFact::Kind::floating)
      demands.broken("'" + std::string(name) + "' is a float, the tensors aren't");
  }
  return demands.verdict();
}

// PyTorch multiplies self by `beta` in `beta`'s kind where the product is a sum over nothing.
Verdict sum_is_scaled(const Call& call) {
  Demands demands;
  const bool batched = call.has("batch1");
  const TensorFact& first = tensor_of(call, batched ? "batch1" : "mat1");
  const auto* beta = call.fact("beta").number();
  if (!first.dtype || !first.shape || !beta) return demands.verdict();
  const TensorFact& second = tensor_of(call, batched ? "batch2" : "mat2");
  const auto empty = [](const TensorFact& matrix, std::size_t dim) { return size_at(matrix, dim).number() == 0; };
  const std::size_t row = batched ? 1 : 0;
  const bool sums_batch = call.op() == "aten::addbmm";
  const bool nothing = empty(first, row + 1) || (sums_batch && empty(first, 0));
  // PyTorch returns an empty result as it is, unless it sums over the batch.
  const bool no_result = !sums_batch && (empty(first, row) || empty(second, row + 1) || (batched && empty(first, 0)));
  if (nothing && !no_result && is_whole(*first.dtype) && beta->kind == NumberFact::Kind::floating &&
      beta->floating.value_or(0) != 0)
    demands.broken("'beta' is a float, the matrices aren't, and the sum is over nothing");
  return demands.verdict();
}

Verdict divides_floats(const Call& call) {
  const auto dividend = call.dtype_of("tensor1"), divisor = call.dtype_of("tensor2");
  Demands demands;
  if (dividend && divisor && is_whole(*dividend) && is_whole(*divisor)) demands.broken("integers aren't divided by addcdiv");
  return demands.verdict();
}

Verdict limits_fit(const Call& call) {
  Demands demands;
  if (call.dtype_of("self") == DType::boolean) demands.broken("'self' holds bools");
  const bool negative = call.number("min_val").value_or(0) < 0 || call.number("max_val").value_or(0) < 0;
  if (call.dtype_of("self") == DType::u8 && negative) demands.broken("a limit of unsigned numbers is negative");
  return demands.verdict();
}

bool is_integer(const Fact& fact) {
  if (const auto* number = fact.number()) return number->kind != NumberFact::Kind::floating;
  const auto* tensor = fact.tensor();
  return tensor && tensor->dtype && is_whole(*tensor->dtype);
}

// PyTorch raises an error for integers divided by 0, unless there are none; ONNX Runtime doesn't load such a model.
Verdict divisor_fits(const Call& call) {
  Demands demands;
  const Fact &self = call.fact("self"), &other = call.fact("other");
  if (!is_integer(self) || !is_integer(other) || (call.has("rounding_mode") && call.is_none("rounding_mode")))
    return demands.verdict();
  const auto is_zero = [](const Dim& divisor) { return divisor.number() == 0; };
  const auto* number = other.number();
  const auto* tensor = other.tensor();
  if ((number && number->integer && is_zero(*number->integer)) ||
      (tensor && tensor->contents && std::ranges::any_of(*tensor->contents, is_zero)))
    demands.broken("integers are divided by 0");
  return demands.verdict();
}

// No tensor or number among the arguments is a bool.
Verdict without_bools(const Call& call) {
  Demands demands;
  for (const char* name : {"self", "elements", "element", "test_elements", "test_element", "y", "x"})
    if (call.has(name) && !call.is_none(name) && is_bool(call.fact(name)))
      demands.broken("'" + std::string(name) + "' is of bools");
  return demands.verdict();
}

// Least and greatest number of a dtype; nullopt where every number converts.
std::optional<std::pair<double, double>> limits_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return {{-128, 127}};
    case DType::u8: return {{0, 255}};
    case DType::i16: return {{-32768, 32767}};
    case DType::u16: return {{0, 65535}};
    case DType::i32: return {{-2147483648., 2147483647.}};
    case DType::u32: return {{0, 4294967295.}};
    case DType::i64: return {{-0x1p63, 0x1p63}};
    case DType::f16: return {{-65504, 65504}};
    case DType::f32: return {{-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()}};
    default: return std::nullopt;
  }
}

// Follows c10::checked_convert: a negative integer wraps to an unsigned one.
bool overflows(const NumberFact& number, DType dtype) {
  const auto limits = limits_of(dtype);
  if (!limits || number.kind == NumberFact::Kind::boolean) return false;
  const bool whole = is_whole(dtype);
  if (number.floating) {
    if (std::isnan(*number.floating) || std::isinf(*number.floating)) return whole;
    return *number.floating < limits->first || *number.floating > limits->second;
  }
  const auto known = number.integer ? number.integer->number() : std::nullopt;
  if (!known) return false;
  const auto exact = static_cast<double>(*known);
  return exact > limits->second || exact < (limits->first == 0 ? -limits->second : limits->first);
}

// A number that becomes elements, or factors of integers, is one of their dtype.
Verdict numbers_fit(const Call& call) {
  Demands demands;
  const auto* result = call.node().outputs().empty() ? nullptr : call.facts().of(call.node().output(0)).tensor();
  if (!result || !result->dtype) return demands.verdict();
  for (const char* name : {"value", "fill_value", "alpha", "beta"}) {
    const auto* number = call.has(name) ? call.fact(name).number() : nullptr;
    const bool factor = name[0] == 'a' || name[0] == 'b';
    if (number && (!factor || is_whole(*result->dtype)) && overflows(*number, *result->dtype))
      demands.broken("'" + std::string(name) + "' can't be converted to " + std::string(ir::name(*result->dtype)) +
                     " without overflow");
  }
  return demands.verdict();
}

}  // namespace

void register_dtypes(Registry& registry) {
  registry.condition("one_dtype", one_dtype);
  registry.condition("one_dtype_but_mask", one_dtype_but_mask);
  registry.condition("cell_has_dtype", cell_has_dtype);
  registry.condition("source_has_dtype", source_has_dtype);
  registry.condition("weight_has_dtype", weight_has_dtype);
  registry.condition("target_has_dtype", target_has_dtype);
  registry.condition("keys_have_dtype", keys_have_dtype);
  registry.condition("parameters_have_dtype", parameters_have_dtype);
  registry.condition("matrices_have_dtype", matrices_have_dtype);
  registry.condition("terms_fit", terms_fit);
  registry.condition("factors_fit", factors_fit);
  registry.condition("sum_is_scaled", sum_is_scaled);
  registry.condition("divides_floats", divides_floats);
  registry.condition("divisor_fits", divisor_fits);
  registry.condition("limits_fit", limits_fit);
  registry.condition("numbers_fit", numbers_fit);
  registry.condition("without_bools", without_bools);
}

}  // namespace compatcheck::symbolic
