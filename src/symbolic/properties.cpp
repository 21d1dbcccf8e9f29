// Facts of tensors' properties beside their sizes: dtypes, devices, storage.
#include <algorithm>
#include <iterator>

#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Fact dtype_fact(std::optional<DType> dtype) {
  return integer_fact(dtype ? Dim(static_cast<std::int64_t>(*dtype)) : Dim::unknown());
}
std::optional<DType> dtype_of_argument(const Call& call) {
  return call.input(0).tensor() ? call.input(0).tensor()->dtype : std::nullopt;
}

Facts dtype(const Call& call) { return {dtype_fact(dtype_of_argument(call))}; }

template <bool (*is)(DType)>
Facts dtype_is(const Call& call) {
  const auto known = dtype_of_argument(call);
  return {boolean_fact(known ? std::optional(is(*known)) : std::nullopt)};
}

bool is_signed(DType dtype) {
  return dtype != DType::boolean && dtype != DType::u8 && dtype != DType::u16 && dtype != DType::u32 && dtype != DType::u64;
}

Facts element_size(const Call& call) {
  const auto known = dtype_of_argument(call);
  return {integer_fact(known ? Dim(static_cast<std::int64_t>(ir::element_bytes(*known))) : Dim::unknown())};
}

Facts is_same_size(const Call& call) {
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  if (!self.shape || !other.shape) return {boolean_fact(std::nullopt)};
  if (self.shape->size() != other.shape->size()) return {boolean_fact(false)};
  bool same = true;
  for (std::size_t i = 0; i < self.shape->size(); ++i) {
    if (provably_different((*self.shape)[i], (*other.shape)[i])) return {boolean_fact(false)};
    same = same && provably_equal((*self.shape)[i], (*other.shape)[i]);
  }
  return {boolean_fact(same ? std::optional(true) : std::nullopt)};
}

Facts result_type(const Call& call) {
  Promotion promotion;
  for (std::size_t i = 0; i < 2; ++i) promotion.add(call.input(i));
  return {dtype_fact(promotion.result())};
}

Facts promoted_types(const Call& call) {
  const auto a = call.dtype("type1"), b = call.dtype("type2");
  return {dtype_fact(a && b ? promote_types(*a, *b) : std::nullopt)};
}

// To a kind of numbers that holds more of them, never back: bool, integers, floats, complex.
Facts can_cast(const Call& call) {
  const auto from = call.dtype("from_"), to = call.dtype("to");
  if (!from || !to) return {boolean_fact(std::nullopt)};
  const auto kind = [](DType dtype) {
    return ir::is_complex(dtype) ? 3 : ir::is_floating(dtype) ? 2 : dtype == DType::boolean ? 0 : 1;
  };
  return {boolean_fact(kind(*from) <= kind(*to))};
}

// Returns TorchScript's name of the value's type, where it is one word; empty otherwise.
std::string_view type_word(const Fact& fact) {
  if (fact.tensor()) return "Tensor";
  if (fact.is_none()) return "NoneType";
  if (const auto* number = fact.number())
    return number->kind == NumberFact::Kind::integer ? "int" : number->kind == NumberFact::Kind::floating ? "float" : "bool";
  return {};
}

// Supports types that a word describes, and containers of something: List[int].
Facts is_instance(const Call& call) {
  const ir::Constant* attribute = call.node().attribute("types");
  const auto* types = attribute ? attribute->get<ir::ListConstant>() : nullptr;
  const std::string_view own = type_word(call.input(0));
  if (!types || own.empty()) return {boolean_fact(std::nullopt)};
  bool distinct = true;
  for (const ir::Constant& type : types->items) {
    const auto* opaque = type.get<ir::OpaqueConstant>();
    const auto* text = type.get<std::string>();
    const std::string_view name = text     ? std::string_view(*text)
                                  : opaque ? std::string_view(opaque->type_name)
                                           : std::string_view();
    if (name == own) return {boolean_fact(true)};
    constexpr std::string_view words[] = {"Tensor", "NoneType", "int", "float", "bool", "str", "complex", "Device"};
    const bool container =
        name.starts_with("List[") || name.starts_with("Dict[") || name.starts_with("Tuple[") || name.ends_with("[]");
    distinct = distinct && (container || std::find(std::begin(words), std::end(words), name) != std::end(words));
  }
  return {boolean_fact(distinct ? std::optional(false) : std::nullopt)};
}

// Tensors of ONNX: on the CPU as loaded, strided, in order, without gradients.
template <bool value>
Facts always(const Call&) {
  return {boolean_fact(value)};
}
template <std::int64_t value>
Facts constant(const Call&) {
  return {integer_fact(value)};
}

constexpr std::int64_t strided = 0, on_cpu = -1;  // c10::Layout::Strided, Tensor::get_device()

}  // namespace

void register_properties(Registry& registry) {
  registry.facts("prim::dtype", dtype);
  registry.facts("aten::is_floating_point", dtype_is<ir::is_floating>);
  registry.facts("aten::is_complex", dtype_is<ir::is_complex>);
  registry.facts("aten::is_signed", dtype_is<is_signed>);
  registry.facts("prim::is_quantized", dtype_is<ir::is_quantized>);
  registry.facts("prim::isinstance", is_instance);
  registry.facts("aten::element_size", element_size);
  registry.facts("aten::is_same_size", is_same_size);
  registry.facts("aten::result_type", result_type);
  registry.facts("aten::promote_types", promoted_types);
  registry.facts("aten::can_cast", can_cast);
  registry.facts("prim::layout", constant<strided>);
  registry.facts("aten::get_device", constant<on_cpu>);
  for (const char* op : {"aten::is_conj", "aten::is_neg", "aten::is_inference", "aten::is_pinned", "prim::requires_grad",
                         "prim::is_mps", "prim::is_xpu", "prim::is_meta"})
    registry.facts(op, always<false>);
  for (const char* op : {"aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled"}) registry.number_facts(op, always<false>);
}

}  // namespace compatcheck::symbolic
