#include "ir/constant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace compatcheck::ir {
namespace {

bool equal_types(const TypeRef& a, const TypeRef& b) { return a == b || (a && b && equal(*a, *b)); }

bool equal_items(const Constants& a, const Constants& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Constant& x, const Constant& y) { return equal(x, y); });
}

bool equal_numbers(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool equal_storages(const std::shared_ptr<const Storage>& a, const std::shared_ptr<const Storage>& b) {
  if (a == b) return true;
  if (!a || !b || a->in_file != b->in_file || a->bytes != b->bytes) return false;
  return a->in_file ? a->file_offset == b->file_offset : a->data == b->data;
}

bool equal_quantizers(const std::shared_ptr<const Quantizer>& a, const std::shared_ptr<const Quantizer>& b) {
  return a == b || (a && b && *a == *b);
}

// -0.0 and 0.0 differ as constants: 1/x tells them apart.
bool same(double a, double b) { return equal_numbers(a, b) && std::signbit(a) == std::signbit(b); }
bool same(std::monostate, std::monostate) { return true; }
bool same(std::int64_t a, std::int64_t b) { return a == b; }
bool same(bool a, bool b) { return a == b; }
bool same(const std::string& a, const std::string& b) { return a == b; }
bool same(const std::complex<double>& a, const std::complex<double>& b) {
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}
bool same(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset &&
         a.requires_grad == b.requires_grad && a.device == b.device && equal_storages(a.storage, b.storage) &&
         equal_quantizers(a.quantizer, b.quantizer);
}
bool same(const ListConstant& a, const ListConstant& b) {
  return equal_types(a.element, b.element) && equal_items(a.items, b.items);
}
bool same(const TupleConstant& a, const TupleConstant& b) { return equal_types(a.type, b.type) && equal_items(a.items, b.items); }
bool same(const DictConstant& a, const DictConstant& b) {
  return equal_types(a.key, b.key) && equal_types(a.value, b.value) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const auto& x, const auto& y) { return equal(x.first, y.first) && equal(x.second, y.second); });
}
bool same(const ObjectConstant& a, const ObjectConstant& b) { return a.object == b.object; }
bool same(const EnumConstant& a, const EnumConstant& b) {
  return a.class_name == b.class_name && a.name == b.name &&
         (a.value == b.value || (a.value && b.value && equal(*a.value, *b.value)));
}
bool same(const DeviceConstant& a, const DeviceConstant& b) { return a.device == b.device; }
bool same(const FunctionConstant& a, const FunctionConstant& b) { return a.name == b.name; }
bool same(const OpaqueConstant& a, const OpaqueConstant& b) { return a.type_name == b.type_name; }

TypeRef element_or_any(const TypeRef& type) { return type ? type : simple_type(TypeKind::any); }

struct TypeOf {
  TypeRef operator()(std::monostate) const { return simple_type(TypeKind::none); }
  TypeRef operator()(std::int64_t) const { return simple_type(TypeKind::integer); }
  TypeRef operator()(double) const { return simple_type(TypeKind::floating); }
  TypeRef operator()(bool) const { return simple_type(TypeKind::boolean); }
  TypeRef operator()(const std::complex<double>&) const { return simple_type(TypeKind::complex); }
  TypeRef operator()(const std::string&) const { return simple_type(TypeKind::string); }
  TypeRef operator()(const TensorView& t) const {
    TensorType type{.dtype = t.dtype, .sizes = {}, .strides = {}, .requires_grad = t.requires_grad, .device = t.device};
    type.sizes.emplace(t.sizes.begin(), t.sizes.end());
    type.strides.emplace(t.strides.begin(), t.strides.end());
    return tensor_type(std::move(type));
  }
  TypeRef operator()(const ListConstant& l) const { return list_of(element_or_any(l.element)); }
  TypeRef operator()(const TupleConstant& t) const {
    if (t.type) return t.type;
    std::vector<TypeRef> elements;
    for (const Constant& item : t.items) elements.push_back(type_of(item));
    return tuple_of(std::move(elements));
  }
  TypeRef operator()(const DictConstant& d) const { return dict_of(element_or_any(d.key), element_or_any(d.value)); }
  TypeRef operator()(const ObjectConstant&) const { return simple_type(TypeKind::any_class); }
  TypeRef operator()(const EnumConstant& e) const { return named_type(e.class_name); }
  TypeRef operator()(const DeviceConstant&) const { return simple_type(TypeKind::device); }
  TypeRef operator()(const FunctionConstant&) const { return simple_type(TypeKind::function); }
  TypeRef operator()(const OpaqueConstant& o) const { return named_type(o.type_name); }
};

}  // namespace

DictConstant::DictConstant() = default;
DictConstant::DictConstant(TypeRef key_type, TypeRef value_type, std::vector<std::pair<Constant, Constant>> members)
    : key(std::move(key_type)), value(std::move(value_type)), items(std::move(members)) {}
DictConstant::DictConstant(const DictConstant&) = default;
DictConstant::DictConstant(DictConstant&&) noexcept = default;
DictConstant& DictConstant::operator=(const DictConstant&) = default;
DictConstant& DictConstant::operator=(DictConstant&&) noexcept = default;
DictConstant::~DictConstant() = default;

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count)) return std::numeric_limits<std::int64_t>::max();
  return count;
}

bool TensorView::contiguous() const {
  if (elements() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, sizes[i], &expected)) return false;
  }
  return true;
}

bool equal(const Constant& a, const Constant& b) {
  if (a.value.index() != b.value.index()) return false;
  return std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b.value)); }, a.value);
}

TypeRef type_of(const Constant& constant) { return std::visit(TypeOf{}, constant.value); }

std::size_t footprint(const Constant& constant) {
  const auto all = [](const Constants& items) {
    std::size_t bytes = 0;
    for (const Constant& item : items) bytes += footprint(item);
    return bytes;
  };
  std::size_t bytes = sizeof(Constant);
  if (const auto* text = constant.get<std::string>())
    bytes += text->size();
  else if (const auto* list = constant.get<ListConstant>())
    bytes += all(list->items);
  else if (const auto* tuple = constant.get<TupleConstant>())
    bytes += all(tuple->items);
  else if (const auto* tensor = constant.get<TensorView>())
    bytes += 2 * sizeof(std::int64_t) * tensor->sizes.size();
  else if (const auto* opaque = constant.get<OpaqueConstant>())
    bytes += opaque->type_name.size();
  else if (const auto* dict = constant.get<DictConstant>())
    for (const auto& [key, value] : dict->items) bytes += footprint(key) + footprint(value);
  return bytes;
}

ContainerIdentity identity_of(const Constant& constant) {
  if (const auto* list = constant.get<ListConstant>()) return list->identity;
  const auto* dict = constant.get<DictConstant>();
  return dict ? dict->identity : 0;
}

std::optional<std::vector<std::int64_t>> as_ints(const Constant& constant) {
  const auto* list = constant.get<ListConstant>();
  if (!list) return std::nullopt;
  std::vector<std::int64_t> out;
  out.reserve(list->items.size());
  for (const Constant& item : list->items) {
    if (const auto* i = item.get<std::int64_t>())
      out.push_back(*i);
    else if (const auto* b = item.get<bool>())
      out.push_back(*b ? 1 : 0);
    else
      return std::nullopt;
  }
  return out;
}

}  // namespace compatcheck::ir
