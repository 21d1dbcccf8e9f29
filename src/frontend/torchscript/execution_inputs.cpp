#include "frontend/torchscript/execution_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>

#include "compatcheck/error.h"
#include "frontend/torchscript/interpreter_constants.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;
using ir::TypeKind;
using InputSizes = std::vector<std::int64_t>;

// The values of random tensors. Floats are from one to two where integers are below two, otherwise normally distributed.
enum class Integers : std::uint8_t { below_ten, below_two, falling_from_four, ones, zeros };
constexpr std::array all_integers = {Integers::below_ten, Integers::below_two, Integers::falling_from_four, Integers::ones,
                                     Integers::zeros};

// Where a model doesn't tell the rank of its inputs.
const std::vector<InputSizes>& guessed_sizes() {
  static const std::vector<InputSizes> all = {{1, 3, 64, 64},   {2, 8},  {2, 3, 32, 32}, {2, 8, 16}, {4, 4}, {1, 1, 28, 28}, {8},
                                              {1, 3, 224, 224}, {1, 16}, {2, 8, 8},      {}};
  return all;
}

bool is_complete(const ir::TensorType& tensor) {
  return tensor.dtype && tensor.sizes &&
         std::all_of(tensor.sizes->begin(), tensor.sizes->end(), [](const auto& size) { return size.has_value(); });
}

// How much a type says of the tensors in it.
int specificity(const ir::TypeRef& type) {
  if (!type) return -1;
  if (type->kind == TypeKind::tensor)
    return (is_complete(type->tensor) ? 4 : 0) + (type->tensor.sizes ? 2 : 0) + (type->tensor.dtype ? 1 : 0);
  int sum = 0;
  for (const ir::TypeRef& element : type->elements) sum += std::max(specificity(element), 0);
  return sum;
}

bool has_unknown_rank(const ir::TypeRef& type) {
  if (!type) return true;
  if (type->kind == TypeKind::tensor) return !type->tensor.sizes;
  return std::any_of(type->elements.begin(), type->elements.end(), has_unknown_rank);
}

class Maker {
 public:
  Maker(std::uint64_t seed, Integers integers, InputSizes guess, at::ScalarType guessed_dtype, bool give_optional)
      : generator_(at::detail::createCPUGenerator(seed)),
        integers_(integers),
        guess_(std::move(guess)),
        guessed_dtype_(guessed_dtype),
        give_optional_(give_optional) {}

  IValue make(const ir::TypeRef& type) {
    if (!type) return tensor({});
    switch (type->kind) {
      case TypeKind::tensor: return tensor(type->tensor);
      case TypeKind::integer: return std::int64_t{2};
      case TypeKind::floating:
      case TypeKind::number: return 0.5;
      case TypeKind::boolean: return true;
      case TypeKind::complex: return c10::complex<double>(0.5, 0.25);
      case TypeKind::none: return {};
      case TypeKind::string: return std::string("text");
      case TypeKind::device: return at::Device(at::kCPU);
      case TypeKind::optional: return give_optional_ || specificity(type) > 0 ? make(type->elements.at(0)) : IValue();
      case TypeKind::list: return list(*type);
      case TypeKind::tuple: return tuple(*type);
      default: throw ModelError("no random input of type " + ir::to_string(*type) + " can be made");
    }
  }

 private:
  IValue list(const ir::Type& type) {
    const std::vector<IValue> items = {make(type.elements.at(0)), make(type.elements.at(0))};
    return make_list(items[0].isTensor() ? c10::TypePtr(c10::TensorType::get()) : items[0].type(), items);
  }
  IValue tuple(const ir::Type& type) {
    std::vector<IValue> items;
    for (const ir::TypeRef& element : type.elements) items.push_back(make(element));
    return c10::ivalue::Tuple::create(std::move(items));
  }

  InputSizes sizes(const ir::TensorType& type) const {
    if (!type.sizes) return guess_;
    InputSizes sizes;
    for (const auto& size : *type.sizes) sizes.push_back(size.value_or(2));
    return sizes;
  }

  at::Tensor tensor(const ir::TensorType& type) {
    const auto dtype = type.dtype ? static_cast<at::ScalarType>(*type.dtype) : guessed_dtype_;
    const InputSizes shape = sizes(type);
    if (dtype == at::kBool) return at::randint(0, 2, shape, generator_, at::kLong).to(at::kBool);
    if (c10::isIntegralType(dtype, false)) return integers(shape).to(dtype);
    if (c10::isQIntType(dtype))
      return at::quantize_per_tensor(at::randn(shape, generator_), 0.05, dtype == at::kQUInt8 ? 128 : 0, dtype);
    if (integers_ == Integers::below_two && !c10::isComplexType(dtype))
      return at::rand(shape, generator_, at::kDouble).add(1).to(dtype);
    return at::randn(shape, generator_, c10::isComplexType(dtype) ? at::kComplexDouble : at::kDouble).to(dtype);
  }

  at::Tensor integers(const InputSizes& shape) {
    switch (integers_) {
      case Integers::below_ten: return at::randint(0, 10, shape, generator_, at::kLong);
      case Integers::below_two: return at::randint(0, 2, shape, generator_, at::kLong);
      case Integers::falling_from_four: return shape.empty() ? at::full(shape, 4, at::kLong) : falling(shape);
      case Integers::ones: return at::ones(shape, at::kLong);
      case Integers::zeros: break;
    }
    return at::zeros(shape, at::kLong);
  }

  // Lengths of packed sequences: positive, sorted.
  static at::Tensor falling(const InputSizes& shape) {
    at::Tensor flat = 4 - at::arange(c10::multiply_integers(shape), at::kLong);
    return flat.clamp_min(1).reshape(shape);
  }

  at::Generator generator_;
  Integers integers_;
  InputSizes guess_;
  at::ScalarType guessed_dtype_;
  bool give_optional_;
};

}  // namespace

ir::TypeRef most_specific(const std::vector<ir::TypeRef>& types) {
  const auto best =
      std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return specificity(a) < specificity(b); });
  return best == types.end() ? nullptr : *best;
}

std::size_t RandomInputs::attempts() const {
  const bool guess = std::any_of(types_.begin(), types_.end(), has_unknown_rank);
  return guess ? guessed_sizes().size() * 2 * 2 : all_integers.size() * 2;
}

// Integers vary fastest only where nothing has to be guessed: else ranks do, then dtypes.
std::vector<IValue> RandomInputs::make(std::size_t attempt) const {
  std::size_t rest = attempt;
  const auto pick = [&](std::size_t choices) { return std::exchange(rest, rest / choices) % choices; };
  const bool guess = std::any_of(types_.begin(), types_.end(), has_unknown_rank);
  const std::size_t guessed = guess ? pick(guessed_sizes().size()) : 0;
  const at::ScalarType dtype = guess && pick(2) == 1 ? at::kLong : at::kFloat;
  const Integers integers = all_integers[pick(all_integers.size())];
  Maker maker(seed_, integers, guessed_sizes()[guessed], dtype, pick(2) == 1);
  std::vector<IValue> inputs;
  for (const ir::TypeRef& type : types_) inputs.push_back(maker.make(type));
  return inputs;
}

}  // namespace compatcheck::frontend::torchscript
