#include "symbolic/fact.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace compatcheck::symbolic {
namespace {

constexpr auto small_elements = static_cast<std::int64_t>(most_contents);

template <class T> std::int64_t read_as(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> element(const ir::TensorView& view, std::int64_t position) {
  const std::size_t size = ir::element_bytes(view.dtype);
  const auto at = static_cast<std::size_t>(position) * size;
  const auto& data = view.storage->data;
  if (position < 0 || size == 0 || at + size > data.size()) return std::nullopt;
  switch (view.dtype) {
    case ir::DType::u8: case ir::DType::boolean: return data[at];
    case ir::DType::i8: return read_as<std::int8_t>(&data[at]);
    case ir::DType::i16: return read_as<std::int16_t>(&data[at]);
    case ir::DType::i32: return read_as<std::int32_t>(&data[at]);
    case ir::DType::i64: return read_as<std::int64_t>(&data[at]);
    default: return std::nullopt;
  }
}

// Of tensors whose bytes came along; others are weights.
std::optional<std::vector<Dim>> small_contents(const ir::TensorView& view) {
  const std::int64_t count = view.elements();
  if (!view.storage || count > small_elements) return std::nullopt;
  std::vector<Dim> contents;
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t position = view.offset;
    for (std::size_t d = 0; d < index.size(); ++d) position += index[d] * view.strides[d];
    const auto value = element(view, position);
    if (!value) return std::nullopt;
    contents.emplace_back(*value);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.sizes[d]) break;
      index[d] = 0;
    }
  }
  return contents;
}

// The element of a tensor of one float whose bytes came along.
std::optional<double> only_number(const ir::TensorView& view) {
  if (!view.storage || view.elements() != 1 || view.offset < 0) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(view.offset) * ir::element_bytes(view.dtype);
  const auto& data = view.storage->data;
  if (view.dtype == ir::DType::f64 && at + sizeof(double) <= data.size()) {
    double value;
    std::memcpy(&value, &data[at], sizeof value);
    return value;
  }
  if (view.dtype == ir::DType::f32 && at + sizeof(float) <= data.size()) {
    float value;
    std::memcpy(&value, &data[at], sizeof value);
    return value;
  }
  return std::nullopt;
}

Fact tensor_fact(const ir::TensorView& view) {
  TensorFact tensor{.dtype = view.dtype, .shape = Shape(view.sizes.begin(), view.sizes.end()),
                    .contents = small_contents(view), .wrapped_number = view.wrapped_number, .known_constant = true};
  if (const auto number = only_number(view)) set_number(tensor, *number);
  return {.value = std::move(tensor)};
}

Fact items_fact(const ir::Constants& items) {
  ListFact list;
  list.items.emplace();
  for (const auto& item : items) list.items->push_back(fact_of(item));
  return {.value = std::move(list)};
}

std::optional<Dim> join_dim(const Dim& a, const Dim& b) {
  if (provably_equal(a, b)) return a;
  return std::nullopt;
}

TensorFact join_tensors(const TensorFact& a, const TensorFact& b) {
  TensorFact joined;
  if (a.dtype == b.dtype) joined.dtype = a.dtype;
  if (a.shape && b.shape && a.shape->size() == b.shape->size()) {
    joined.shape.emplace();
    for (std::size_t i = 0; i < a.shape->size(); ++i)
      joined.shape->push_back(join_dim((*a.shape)[i], (*b.shape)[i]).value_or(Dim::unknown()));
  }
  if (a.contents && b.contents && a.contents->size() == b.contents->size() &&
      std::equal(a.contents->begin(), a.contents->end(), b.contents->begin(),
                 [](const Dim& x, const Dim& y) { return provably_equal(x, y); }))
    joined.contents = a.contents;
  if (a.fraction && b.fraction && *a.fraction == *b.fraction) joined.fraction = a.fraction;
  return joined;
}

NumberFact join_numbers(const NumberFact& a, const NumberFact& b) {
  NumberFact joined{.kind = a.kind};
  if (a.integer && b.integer) joined.integer = join_dim(*a.integer, *b.integer);
  if (a.floating && b.floating && *a.floating == *b.floating) joined.floating = a.floating;
  return joined;
}

ListFact join_lists(const ListFact& a, const ListFact& b) {
  ListFact joined;
  if (a.items && b.items && a.items->size() == b.items->size()) {
    joined.items.emplace();
    for (std::size_t i = 0; i < a.items->size(); ++i) joined.items->push_back(join((*a.items)[i], (*b.items)[i]));
    return joined;
  }
  std::optional<Fact> element;
  for (const ListFact* list : {&a, &b}) {
    if (list->items) {
      for (const Fact& item : *list->items) element = element ? join(*element, item) : item;
    } else if (list->element) {
      element = element ? join(*element, *list->element) : *list->element;
    } else {
      return joined;
    }
  }
  if (element) joined.element = std::make_shared<Fact>(std::move(*element));
  return joined;
}

std::string spell_shape(const TensorFact& tensor) {
  std::string text = std::string(tensor.dtype ? ir::name(*tensor.dtype) : "?") + "[";
  if (!tensor.shape) return text + "*]";
  for (std::size_t i = 0; i < tensor.shape->size(); ++i) text += (i ? ", " : "") + (*tensor.shape)[i].to_string();
  return text + "]";
}

}  // namespace

void set_number(TensorFact& tensor, double number) {
  constexpr double exact = 16777216;  // whole numbers up to here are exact in f32
  tensor.contents.reset();
  tensor.fraction.reset();
  if (number == std::floor(number) && std::abs(number) <= exact) tensor.contents = std::vector<Dim>{Dim(static_cast<std::int64_t>(number))};
  else tensor.fraction = number;
}

Fact fact_of(const ir::Constant& constant) {
  if (constant.is_none()) return {.value = NoneFact{}};
  if (auto* integer = constant.get<std::int64_t>())
    return {.value = NumberFact{.kind = NumberFact::Kind::integer, .integer = Dim(*integer)}};
  if (auto* floating = constant.get<double>())
    return {.value = NumberFact{.kind = NumberFact::Kind::floating, .floating = *floating}};
  if (auto* boolean = constant.get<bool>())
    return {.value = NumberFact{.kind = NumberFact::Kind::boolean, .integer = Dim(*boolean ? 1 : 0)}};
  if (auto* view = constant.get<ir::TensorView>()) return tensor_fact(*view);
  if (auto* list = constant.get<ir::ListConstant>()) return items_fact(list->items);
  if (auto* tuple = constant.get<ir::TupleConstant>()) return items_fact(tuple->items);
  return {.value = ConstantFact{constant}};
}

Fact fact_of(const ir::Constant& constant, const ir::Program& program) {
  constexpr std::string_view custom_classes = "__torch__.torch.classes.";
  const auto* object = constant.get<ir::ObjectConstant>();
  if (!object || object->object >= program.objects.size()) return fact_of(constant);
  const ir::Object& found = program.objects[object->object];
  const auto type = program.classes.find(found.class_name);
  if (!found.class_name.starts_with(custom_classes) || type == program.classes.end()) return fact_of(constant);
  auto parts = std::make_shared<std::vector<std::pair<std::string, Fact>>>();
  for (std::size_t i = 0; i < type->second.attributes.size() && i < found.attributes.size(); ++i)
    parts->emplace_back(type->second.attributes[i].name, fact_of(found.attributes[i]));
  return {.value = ObjectFact{std::move(parts)}};
}

const Fact& part_of(const Fact& object, std::string_view name) {
  static const Fact nothing{};
  const auto* known = std::get_if<ObjectFact>(&object.value);
  if (!known) return nothing;
  const auto found = std::find_if(known->parts->begin(), known->parts->end(), [&](const auto& part) { return part.first == name; });
  return found == known->parts->end() ? nothing : found->second;
}

Fact join(const Fact& a, const Fact& b) {
  Fact joined;
  std::set_union(a.wants.begin(), a.wants.end(), b.wants.begin(), b.wants.end(), std::back_inserter(joined.wants));
  joined.blame = a.blame ? a.blame : b.blame;
  if (a.tensor() && b.tensor()) joined.value = join_tensors(*a.tensor(), *b.tensor());
  else if (a.number() && b.number() && a.number()->kind == b.number()->kind) joined.value = join_numbers(*a.number(), *b.number());
  else if (a.list() && b.list()) joined.value = join_lists(*a.list(), *b.list());
  else if (a.is_none() && b.is_none()) joined.value = NoneFact{};
  else if (auto *x = std::get_if<ConstantFact>(&a.value), *y = std::get_if<ConstantFact>(&b.value);
           x && y && ir::equal(x->value, y->value))
    joined.value = *x;
  else if (auto *x = std::get_if<ObjectFact>(&a.value), *y = std::get_if<ObjectFact>(&b.value); x && y && x->parts == y->parts)
    joined.value = *x;
  return joined;
}

std::string to_string(const Fact& fact) {
  if (auto* tensor = fact.tensor()) return spell_shape(*tensor);
  if (auto* number = fact.number()) {
    if (number->kind == NumberFact::Kind::floating)
      return "float" + (number->floating ? " " + std::to_string(*number->floating) : std::string());
    if (number->kind == NumberFact::Kind::boolean)
      return !number->integer || !number->integer->is_number() ? "bool" : *number->integer->number() ? "True" : "False";
    return "int" + (number->integer ? " " + number->integer->to_string() : std::string());
  }
  if (auto* list = fact.list()) {
    if (!list->items) return "list of " + (list->element ? to_string(*list->element) : std::string("?"));
    std::string text = "[";
    for (const Fact& item : *list->items) text += (text.size() > 1 ? ", " : "") + to_string(item);
    return text + "]";
  }
  return fact.is_none() ? "None" : "?";
}

}  // namespace compatcheck::symbolic
