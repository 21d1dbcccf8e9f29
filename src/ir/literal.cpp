#include "ir/literal.h"

#include <algorithm>

#include "ir/number_text.h"
#include "ir/tensor_literal.h"
#include "ir/type_text.h"

namespace compatcheck::ir {
namespace {

// ---- reading

TypeRef common_type(const Constants& items) {
  if (items.empty()) return simple_type(TypeKind::any);
  TypeRef first = type_of(items.front());
  if (is(first, TypeKind::tensor)) first = tensor_type();
  for (const Constant& item : items) {
    const TypeRef type = type_of(item);
    const bool same = is(first, TypeKind::tensor) ? is(type, TypeKind::tensor) : equal(*type, *first);
    if (!same) return simple_type(TypeKind::any);
  }
  return first;
}

Constants read_items(Scanner& s, std::string_view close) {
  Constants items;
  while (!s.accept(close)) {
    items.push_back(read_literal(s));
    if (!s.looking_at(close)) s.expect(",", "or '" + std::string(close) + "' after a value");
  }
  return items;
}

Constant read_list(Scanner& s) {
  Constants items = read_items(s, "]");
  const bool mixed = std::any_of(items.begin(), items.end(), [](const Constant& c) { return c.get<double>() != nullptr; });
  const auto number = [](const Constant& c) { return c.get<double>() || c.get<std::int64_t>(); };
  if (mixed && std::all_of(items.begin(), items.end(), number))
    for (Constant& item : items) item = as_type(std::move(item), simple_type(TypeKind::floating));
  TypeRef element = common_type(items);
  return {ListConstant{std::move(element), std::move(items)}};
}

Constant boxed(Element value, bool real) {
  const DType dtype = value.imag() != 0 ? DType::c128 : real ? DType::f64 : DType::i64;
  return {tensor_of(dtype, {}, {value})};
}

// "(1,2)" inside braces; the whole body of "{…}" is one number.
std::optional<Constant> read_boxed(Scanner& s) {
  const std::size_t from = s.position();
  if (s.accept("(")) {
    const auto re = s.element();
    const bool comma = s.accept(",");
    const auto im = s.element();
    if (re && comma && im && s.accept(")") && s.accept("}")) {
      const auto real = [](const auto& n) { return std::visit([](auto v) { return static_cast<double>(v); }, n); };
      return Constant{tensor_of(DType::c128, {}, {Element(real(*re), real(*im))})};
    }
  } else if (const auto number = s.element(); number && s.accept("}")) {
    const bool real = std::holds_alternative<double>(*number);
    return boxed(std::visit([](auto v) { return static_cast<long double>(v); }, *number), real);
  }
  s.rewind(from);
  return std::nullopt;
}

Constant read_braces(Scanner& s) {
  if (auto tensor = read_boxed(s)) return *std::move(tensor);
  DictConstant dict;
  while (!s.accept("}")) {
    Constant key = read_literal(s);
    s.expect(":", "after the key");
    dict.items.emplace_back(std::move(key), read_literal(s));
    if (!s.looking_at("}")) s.expect(",", "or '}' after a value");
  }
  Constants keys, values;
  for (const auto& [key, value] : dict.items) keys.push_back(key), values.push_back(value);
  dict.key = common_type(keys);
  dict.value = common_type(values);
  return {std::move(dict)};
}

// "1", "1.", "1.+2.j".
std::optional<Constant> read_number(Scanner& s) {
  const auto number = s.number();
  if (!number) return std::nullopt;
  const double real = std::visit([](auto v) { return static_cast<double>(v); }, *number);
  if (s.raw_peek() == 'j') {
    s.raw_advance(1);
    return Constant{std::complex<double>(0, real)};
  }
  if (s.raw_peek() == '+' || s.raw_peek() == '-') {
    const std::size_t from = s.position();
    const auto imaginary = s.number();
    if (imaginary && s.raw_peek() == 'j') {
      s.raw_advance(1);
      return Constant{std::complex<double>(real, std::visit([](auto v) { return static_cast<double>(v); }, *imaginary))};
    }
    s.rewind(from);
  }
  return std::visit([](auto v) { return Constant{v}; }, *number);
}

// "<Tensor>", "<Graph>": torch keeps the content to itself.
Constant read_withheld(Scanner& s) {
  const std::string_view rest = s.raw_rest_of_line();
  const std::size_t end = rest.find('>');
  if (end == std::string_view::npos) s.fail_expected("a value like <Tensor>");
  const std::string_view words = rest.substr(0, end + 1);
  s.raw_advance(words.size());
  if (words == "<Tensor>") return {TensorView{}};
  return {OpaqueConstant{std::string(words)}};
}

Constant read_annotated(Scanner& s) {
  const TypeRef type = read_type(s);
  s.expect(",", "after the type");
  Constant value = as_type(read_literal(s), type);
  s.expect(")", "after the value");
  return value;
}

Constant read_object(Scanner& s) {
  const std::string_view rest = s.raw_rest_of_line();
  const bool address = rest.starts_with("0x");
  const auto index = address ? std::nullopt : s.number();
  if (address) s.raw_advance(std::min(rest.find(')'), rest.size()));
  s.expect(")", "after the object");
  if (index && std::holds_alternative<std::int64_t>(*index))
    return {ObjectConstant{static_cast<std::uint32_t>(std::get<std::int64_t>(*index))}};
  return {OpaqueConstant{"object"}};
}

Constant read_word(Scanner& s) {
  if (s.accept("None")) return {};
  if (s.accept("True")) return {true};
  if (s.accept("False")) return {false};
  if (s.accept("annotate(")) return read_annotated(s);
  if (s.accept("object(")) return read_object(s);
  if (s.accept("torch.device(")) {
    if (!s.at_string()) s.fail_expected("a device's name in quotes");
    Constant device{DeviceConstant{s.string()}};
    s.expect(")", "after the device");
    return device;
  }
  const std::size_t from = s.position();
  const char first = s.peek();
  if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_')) s.fail_expected("a value");
  s.rewind(from);
  return {OpaqueConstant{to_string(*read_type(s))}};
}

// ---- types

std::optional<std::vector<std::int64_t>> complete(const std::optional<std::vector<std::optional<std::int64_t>>>& sizes) {
  if (!sizes) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& size : *sizes) {
    if (!size || *size < 0) return std::nullopt;
    out.push_back(*size);
  }
  return out;
}

DType boxed_dtype(DType dtype) {
  if (dtype == DType::f64) return DType::f32;
  if (dtype == DType::c128) return DType::c64;
  return dtype;
}

TensorView tensor_as(TensorView tensor, const TensorType& type) {
  const auto sizes = complete(type.sizes);
  if (!tensor.storage) {
    if (tensor.sizes.empty() && sizes) {  // "<Tensor>"
      tensor = tensor_of(type.dtype.value_or(tensor.dtype), *sizes, {});
      tensor.storage = nullptr;
    }
  } else if (tensor.sizes.empty()) {
    const bool one = sizes && std::all_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size == 1; });
    if (const auto elements = elements_of(tensor))
      tensor = tensor_of(type.dtype.value_or(boxed_dtype(tensor.dtype)), one ? *sizes : tensor.sizes, *elements);
  }
  const auto strides = complete(type.strides);
  if (strides && sizes && tensor.sizes == *sizes && strides->size() == sizes->size() &&
      (!tensor.storage || tensor.elements() <= 1))
    tensor.strides = *strides;
  if (type.requires_grad) tensor.requires_grad = *type.requires_grad;
  if (!type.device.empty()) tensor.device = type.device;
  return tensor;
}

std::optional<std::complex<double>> as_complex(const Constant& constant) {
  const auto real = [](const Constant& c) -> std::optional<double> {
    if (const auto* i = c.get<std::int64_t>()) return static_cast<double>(*i);
    if (const auto* d = c.get<double>()) return *d;
    return std::nullopt;
  };
  if (const auto number = real(constant)) return *number;
  const auto* pair = constant.get<TupleConstant>();
  if (!pair || pair->items.size() != 2) return std::nullopt;
  const auto re = real(pair->items[0]), im = real(pair->items[1]);
  if (!re || !im) return std::nullopt;
  return std::complex<double>(*re, *im);
}

std::optional<Constant> as_simple(const Constant& constant, const Type& type) {
  const auto* integer = constant.get<std::int64_t>();
  const auto* word = constant.get<OpaqueConstant>();
  switch (type.kind) {
    case TypeKind::boolean:
      if (integer && (*integer == 0 || *integer == 1)) return Constant{*integer == 1};
      break;
    case TypeKind::floating:
      if (integer) return Constant{static_cast<double>(*integer)};
      break;
    case TypeKind::complex:
      if (const auto number = as_complex(constant)) return Constant{*number};
      break;
    case TypeKind::device:
      if (const auto* name = constant.get<std::string>()) return Constant{DeviceConstant{*name}};
      break;
    case TypeKind::tensor:
      if (const auto* tensor = constant.get<TensorView>()) return Constant{tensor_as(*tensor, type.tensor)};
      break;
    case TypeKind::named:  // "__torch__.Color.RED" where "__torch__.Color" is wanted
      if (word && word->type_name.starts_with(type.name + '.'))
        return Constant{EnumConstant{type.name, word->type_name.substr(type.name.size() + 1), nullptr}};
      break;
    default: break;
  }
  return std::nullopt;
}

// ---- writing

std::string join_items(const Constants& items, const TypeRef& element, const Type* tuple) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i)
    out += (i > 0 ? ", " : "") + write_literal(items[i], tuple && i < tuple->elements.size() ? tuple->elements[i] : element);
  return out;
}

// Whether a reader without `known` would read the list as it is.
bool is_self_describing(const Constant& value) {
  if (const auto* list = value.get<ListConstant>()) {
    const TypeRef element = list->element ? list->element : simple_type(TypeKind::any);
    return equal(*common_type(list->items), *element);
  }
  if (const auto* dict = value.get<DictConstant>()) return !dict->items.empty();
  return true;
}

struct Write {
  const Constant& constant;
  TypeRef known;

  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return spell(v); }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(const std::complex<double>& v) const { return spell(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const TensorView& v) const { return write_tensor(v); }
  std::string operator()(const ListConstant& v) const {
    return annotated('[' + join_items(v.items, known ? v.element : nullptr, nullptr) + ']');
  }
  std::string operator()(const TupleConstant& v) const {
    return '(' + join_items(v.items, nullptr, known && is(v.type, TypeKind::tuple) ? v.type.get() : nullptr) +
           (v.items.size() == 1 ? ",)" : ")");
  }
  std::string operator()(const DictConstant& v) const {
    std::string out;
    for (const auto& [key, value] : v.items)
      out += (out.empty() ? "" : ", ") + write_literal(key, known ? v.key : nullptr) + ": " +
             write_literal(value, known ? v.value : nullptr);
    return annotated('{' + out + '}');
  }
  std::string operator()(const ObjectConstant& v) const { return "object(" + std::to_string(v.object) + ')'; }
  std::string operator()(const EnumConstant& v) const { return v.class_name + '.' + v.name; }
  std::string operator()(const DeviceConstant& v) const { return "torch.device(" + quoted(v.device) + ')'; }
  std::string operator()(const FunctionConstant& v) const { return quoted(v.name); }
  std::string operator()(const OpaqueConstant& v) const { return v.type_name; }

  std::string annotated(std::string body) const {
    if (known || is_self_describing(constant)) return body;
    return "annotate(" + to_string(*type_of(constant)) + ", " + body + ')';
  }
};

}  // namespace

Constant read_literal(Scanner& s) {
  Scanner::Nesting nesting(s);
  if (auto tensor = read_printed_tensor(s)) return {*std::move(tensor)};
  if (s.at_string()) return {s.string()};
  if (auto number = read_number(s)) return *std::move(number);
  if (s.accept("[")) return read_list(s);
  if (s.accept("{")) return read_braces(s);
  if (s.accept("(")) {
    Constants items = read_items(s, ")");
    return {TupleConstant{nullptr, std::move(items)}};
  }
  if (s.looking_at("<")) return read_withheld(s);
  return read_word(s);
}

Constant as_type(Constant constant, const TypeRef& type) {
  if (!type) return constant;
  if (is(type, TypeKind::optional)) return constant.is_none() ? constant : as_type(std::move(constant), type->elements[0]);
  if (auto simple = as_simple(constant, *type)) return *std::move(simple);
  if (auto* list = constant.get<ListConstant>(); list && is(type, TypeKind::list)) {
    list->element = type->elements[0];
    for (Constant& item : list->items) item = as_type(std::move(item), list->element);
  }
  if (auto* tuple = constant.get<TupleConstant>();
      tuple && is(type, TypeKind::tuple) && type->elements.size() == tuple->items.size()) {
    tuple->type = type;
    for (std::size_t i = 0; i < tuple->items.size(); ++i)
      tuple->items[i] = as_type(std::move(tuple->items[i]), type->elements[i]);
  }
  if (auto* dict = constant.get<DictConstant>(); dict && is(type, TypeKind::dict)) {
    dict->key = type->elements[0];
    dict->value = type->elements[1];
    for (auto& [key, value] : dict->items) {
      key = as_type(std::move(key), dict->key);
      value = as_type(std::move(value), dict->value);
    }
  }
  return constant;
}

std::string write_literal(const Constant& constant, const TypeRef& known) {
  return std::visit(Write{constant, known}, constant.value);
}

}  // namespace compatcheck::ir
