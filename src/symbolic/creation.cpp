// Tensors made from sizes and numbers: facts.
#include "symbolic/creation.h"

#include <algorithm>
#include <complex>

#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
using ir::DType;

std::optional<DType> natural_dtype(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return tensor->dtype;
  if (const auto* number = fact.number())
    return number->kind == NumberFact::Kind::floating  ? default_float
           : number->kind == NumberFact::Kind::boolean ? DType::boolean
                                                       : DType::i64;
  const auto* constant = std::get_if<ConstantFact>(&fact.value);
  return constant && constant->value.get<std::complex<double>>() ? std::optional(DType::c64) : std::nullopt;
}

Facts made_like(const Call& call) { return {tensor_fact(dtype_or(call, self_of(call).dtype), self_of(call).shape)}; }

namespace {

Facts full(const Call& call) { return {tensor_fact(dtype_or(call, natural_dtype(call.fact("fill_value"))), call.dims("size"))}; }

Facts new_sized(const Call& call) { return {tensor_fact(dtype_or(call, call.dtype_of("self")), call.dims("size"))}; }

Facts eye(const Call& call) {
  const Dim n = call.dim("n").value_or(Dim::unknown());
  return {tensor_fact(dtype_or(call, default_float), Shape{n, call.has("m") ? call.dim("m").value_or(Dim::unknown()) : n})};
}

// ---- From numbers

std::optional<std::vector<Dim>> whole_content(const Fact& fact) {
  const auto* number = fact.number();
  if (!number || number->kind == NumberFact::Kind::floating || !number->integer) return std::nullopt;
  return std::vector<Dim>{*number->integer};
}

Fact scalar(std::optional<DType> dtype, const Fact& number) {
  TensorFact tensor{.dtype = dtype, .shape = Shape{}};
  if (dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean)) tensor.contents = whole_content(number);
  const auto* given = number.number();
  if (dtype == DType::f64 && given && given->floating) set_number(tensor, *given->floating);
  return {.value = std::move(tensor)};
}

Facts scalar_tensor(const Call& call) { return {scalar(dtype_or(call, default_float), call.fact("s"))}; }

// A Python float becomes f64 here, unlike torch.tensor's default.
Facts number_to_tensor(const Call& call) {
  const auto dtype = natural_dtype(call.input(0));
  if (call.input(0).tensor()) return {call.input(0)};
  return {scalar(dtype == default_float ? DType::f64 : dtype == DType::c64 ? DType::c128 : dtype, call.input(0))};
}

// Nested lists: their lengths, and their elements if they are few.
bool read_nested(const Fact& fact, std::size_t depth, Shape& shape, std::vector<Dim>& contents, std::optional<DType>& dtype) {
  const auto* list = fact.list();
  if (!list) {
    dtype = natural_dtype(fact);
    const auto element = whole_content(fact);
    contents.push_back(element ? element->front() : Dim::unknown());
    return true;
  }
  if (!list->items) return false;
  if (shape.size() <= depth) shape.emplace_back(static_cast<std::int64_t>(list->items->size()));
  return std::all_of(list->items->begin(), list->items->end(),
                     [&](const Fact& item) { return read_nested(item, depth + 1, shape, contents, dtype); });
}

std::optional<DType> element_dtype(ir::TypeRef type) {
  while (type && type->kind == ir::TypeKind::list) type = type->elements.front();
  if (!type) return std::nullopt;
  switch (type->kind) {
    case ir::TypeKind::integer: return DType::i64;
    case ir::TypeKind::floating: return default_float;
    case ir::TypeKind::boolean: return DType::boolean;
    default: return std::nullopt;
  }
}

// The rank that nested lists of this type have.
std::size_t depth_of(ir::TypeRef type) {
  std::size_t depth = 0;
  for (; type && type->kind == ir::TypeKind::list; type = type->elements.front()) ++depth;
  return depth;
}

Facts tensor(const Call& call) {
  const char* argument = call.has("data") ? "data" : "t";
  const Fact& data = call.fact(argument);
  if (const auto* given = data.tensor()) {
    TensorFact result{.dtype = dtype_or(call, given->dtype), .shape = given->shape};
    return {{.value = std::move(result)}};
  }
  const ir::Value* value = call.value(argument);
  const auto natural = element_dtype(value->type());
  Shape shape;
  std::vector<Dim> contents;
  std::optional<DType> element;
  if (!read_nested(data, 0, shape, contents, element))
    return {tensor_fact(dtype_or(call, natural), unknown_sizes(depth_of(value->type())))};
  TensorFact result{.dtype = dtype_or(call, natural ? natural : element), .shape = std::move(shape)};
  const bool known = std::none_of(contents.begin(), contents.end(), [](const Dim& dim) { return dim.is_unknown(); });
  if (known && contents.size() <= most_contents && result.dtype && ir::is_integral(*result.dtype))
    result.contents = std::move(contents);
  return {{.value = std::move(result)}};
}

// theta (N, 2, 3) or (N, 3, 4) and the size of the image: a grid of coordinates.
Facts affine_grid(const Call& call) {
  const auto size = call.dims("size");
  if (!size || size->size() < 4) return {tensor_fact(call.dtype_of("theta"), std::nullopt)};
  Shape shape{size->front()};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.emplace_back(static_cast<std::int64_t>(size->size()) - 2);
  return {tensor_fact(call.dtype_of("theta"), std::move(shape))};
}

// For one place between corners ONNX uses -1, PyTorch the middle. ONNX Runtime's AffineGrid fails where a size is 0, as
// torch.nn.functional.affine_grid does: named sizes are assumed to be at least 1.
Verdict affine_grid_is_exact(const Call& call) {
  const auto size = call.dims("size");
  const Verdict no{.truth = Truth::no, .message = "a size may be 0, or 1 with align_corners"};
  if (!size || size->size() < 4) return no;
  const bool align = call.boolean("align_corners") != false;
  for (std::size_t i = 0; i < size->size(); ++i)
    if (!provably_at_least((*size)[i], align && i >= 2 ? 2 : 1)) return no;
  return {.truth = Truth::yes};
}

}  // namespace

void register_creation(Registry& registry) {
  for (const char* op : {"aten::zeros", "aten::ones", "aten::empty", "aten::empty_permuted", "aten::empty_strided"})
    registry.facts(op, made<default_float>);
  registry.facts("aten::full", full);
  for (const char* op : {"aten::zeros_like", "aten::ones_like", "aten::empty_like", "aten::full_like"})
    registry.facts(op, made_like);
  for (const char* op : {"aten::new_zeros", "aten::new_ones", "aten::new_empty", "aten::new_full", "aten::new_empty_strided"})
    registry.facts(op, new_sized);
  registry.facts("aten::eye", eye);
  registry.facts("aten::scalar_tensor", scalar_tensor);
  registry.facts("prim::NumToTensor", number_to_tensor);
  registry.facts("aten::tensor", tensor);
  registry.facts("aten::as_tensor", tensor);
  registry.facts("aten::affine_grid_generator", affine_grid);
  registry.condition("affine_grid_is_exact", affine_grid_is_exact);
}

}  // namespace compatcheck::symbolic
