// Sizes and dtypes of constant tensors, Python's `is` and isinstance, single elements.
#include <algorithm>
#include <cstring>

#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;

const ir::TensorView* tensor(Arguments in) { return in.empty() ? nullptr : in[0]->get<ir::TensorView>(); }

// A size in int[] form or, with an index, one of them.
Evaluated size(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  if (!view) return std::nullopt;
  if (in.size() == 1) {
    ir::ListConstant list{ir::simple_type(ir::TypeKind::integer), {}};
    for (std::int64_t extent : view->sizes) list.items.push_back({extent});
    return Constant{std::move(list)};
  }
  const auto* axis = in.size() == 2 ? in[1]->get<std::int64_t>() : nullptr;
  if (!axis) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(view->sizes.size());
  const std::int64_t at = *axis < 0 ? *axis + rank : *axis;
  if (at < 0 || at >= rank) return std::nullopt;
  return Constant{view->sizes[static_cast<std::size_t>(at)]};
}

Evaluated rank(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{static_cast<std::int64_t>(view->sizes.size())}) : std::nullopt;
}

Evaluated elements(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{view->elements()}) : std::nullopt;
}

Evaluated first_extent(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 && !view->sizes.empty() ? Evaluated(Constant{view->sizes[0]}) : std::nullopt;
}

Evaluated dtype(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{static_cast<std::int64_t>(view->dtype)}) : std::nullopt;
}

Evaluated floating(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{ir::is_floating(view->dtype)}) : std::nullopt;
}

Evaluated complex(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{ir::is_complex(view->dtype)}) : std::nullopt;
}

Evaluated wants_gradient(const ir::Node&, Arguments in) {
  const auto* view = tensor(in);
  return view && in.size() == 1 ? Evaluated(Constant{view->requires_grad}) : std::nullopt;
}

// The only element of a tensor whose bytes are at hand.
template <class T>
std::optional<T> only_element(const ir::TensorView& view) {
  if (view.elements() != 1 || !view.storage || view.offset < 0) return std::nullopt;
  if (static_cast<std::size_t>(view.offset) >= view.storage->data.size() / sizeof(T)) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(view.offset) * sizeof(T);
  T value;
  std::memcpy(&value, view.storage->data.data() + at, sizeof(T));
  return value;
}

Evaluated only_element_of(const ir::TensorView& view) {
  auto widen = [](auto value) -> Evaluated {
    return value ? Evaluated(Constant{static_cast<std::int64_t>(*value)}) : std::nullopt;
  };
  switch (view.dtype) {
    case ir::DType::i64: return widen(only_element<std::int64_t>(view));
    case ir::DType::i32: return widen(only_element<std::int32_t>(view));
    case ir::DType::i16: return widen(only_element<std::int16_t>(view));
    case ir::DType::i8: return widen(only_element<std::int8_t>(view));
    case ir::DType::u8: return widen(only_element<std::uint8_t>(view));
    case ir::DType::boolean:
      if (const auto value = only_element<std::uint8_t>(view)) return Constant{*value != 0};
      return std::nullopt;
    case ir::DType::f64:
      if (const auto value = only_element<double>(view)) return Constant{*value};
      return std::nullopt;
    case ir::DType::f32:
      if (const auto value = only_element<float>(view)) return Constant{static_cast<double>(*value)};
      return std::nullopt;
    default: return std::nullopt;
  }
}

// aten::Int, Float and Bool of a tensor.
Evaluated element_as_int(const ir::Node&, Arguments in) {
  const Evaluated value = tensor(in) && in.size() == 1 ? only_element_of(*tensor(in)) : std::nullopt;
  return value && value->get<std::int64_t>() ? value : std::nullopt;
}
Evaluated element_as_float(const ir::Node&, Arguments in) {
  const Evaluated value = tensor(in) && in.size() == 1 ? only_element_of(*tensor(in)) : std::nullopt;
  return value && !value->get<bool>() ? value : std::nullopt;
}
Evaluated element_as_bool(const ir::Node&, Arguments in) {
  const Evaluated value = tensor(in) && in.size() == 1 ? only_element_of(*tensor(in)) : std::nullopt;
  return value && value->get<bool>() ? value : std::nullopt;
}

bool never_none(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return false;
  switch (type->kind) {
    case optional:
    case none:
    case any:
    case union_of:
    case var: return false;
    default: return true;
  }
}

// `x is y` where one side is None.
template <bool negated>
Evaluated identity(const ir::Node& node, Arguments in) {
  if (in.size() != 2) return std::nullopt;
  for (std::size_t one = 0; one < 2; ++one) {
    const std::size_t other = 1 - one;
    if (!in[one]->is_none()) continue;
    if (in[other]->is_none()) return Constant{!negated};
    if (never_none(node.input(other)->type())) return Constant{negated};
  }
  return std::nullopt;
}

Evaluated enum_name(const ir::Node&, Arguments in) {
  const auto* member = in.size() == 1 ? in[0]->get<ir::EnumConstant>() : nullptr;
  return member ? Evaluated(Constant{member->name}) : std::nullopt;
}

Evaluated enum_value(const ir::Node&, Arguments in) {
  const auto* member = in.size() == 1 ? in[0]->get<ir::EnumConstant>() : nullptr;
  return member && member->value ? Evaluated(*member->value) : std::nullopt;
}

// ---- isinstance

std::optional<std::string> type_name(const Constant& type) {
  if (const auto* text = type.get<std::string>()) return *text;
  if (const auto* opaque = type.get<ir::OpaqueConstant>()) return opaque->type_name;
  return std::nullopt;
}

// The annotation of a value's type where one word says it; empty if not.
std::string_view simple_name(const ir::Type& type) {
  using enum ir::TypeKind;
  switch (type.kind) {
    case tensor: return "Tensor";
    case integer: return "int";
    case floating: return "float";
    case boolean: return "bool";
    case string: return "str";
    case complex: return "complex";
    case device: return "Device";
    case none: return "NoneType";
    default: return {};
  }
}

Evaluated is_instance(const ir::Node& node, Arguments in) {
  const ir::Constant* types = node.attribute("types");
  const auto* list = types ? types->get<ir::ListConstant>() : nullptr;
  if (in.size() != 1 || !list || !node.input(0)->type()) return std::nullopt;
  const std::string_view own = in[0]->is_none() ? "NoneType" : simple_name(*node.input(0)->type());
  const bool container = ir::is(node.input(0)->type(), ir::TypeKind::list) || ir::is(node.input(0)->type(), ir::TypeKind::dict) ||
                         ir::is(node.input(0)->type(), ir::TypeKind::tuple);
  if (own.empty() && !container) return std::nullopt;
  for (const Constant& entry : list->items) {
    const auto name = type_name(entry);
    if (!name) return std::nullopt;
    if (*name == own) return Constant{true};
    constexpr std::string_view simple[] = {"Tensor", "int", "float", "bool", "str", "complex", "Device", "NoneType"};
    const bool other = std::find(std::begin(simple), std::end(simple), *name) != std::end(simple);
    // One word against another, or against a container: they differ.
    if (!other && (own.empty() || !(name->find('[') != std::string::npos))) return std::nullopt;
    if (!other && name->starts_with("Optional")) return std::nullopt;
  }
  return Constant{false};
}

}  // namespace

const Evaluators& property_evaluators() {
  static const Evaluators table = {{"aten::size", size},
                                   {"aten::dim", rank},
                                   {"aten::numel", elements},
                                   {"aten::len", first_extent},
                                   {"prim::dtype", dtype},
                                   {"prim::EnumName", enum_name},
                                   {"prim::EnumValue", enum_value},
                                   {"aten::is_floating_point", floating},
                                   {"aten::is_complex", complex},
                                   {"prim::requires_grad", wants_gradient},
                                   {"aten::Int", element_as_int},
                                   {"aten::IntImplicit", element_as_int},
                                   {"aten::Float", element_as_float},
                                   {"aten::FloatImplicit", element_as_float},
                                   {"aten::Bool", element_as_bool},
                                   {"aten::__is__", identity<false>},
                                   {"aten::__isnot__", identity<true>},
                                   {"prim::isinstance", is_instance}};
  return table;
}

}  // namespace compatcheck::passes
