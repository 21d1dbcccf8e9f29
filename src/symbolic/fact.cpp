#include "symbolic/fact.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace compatcheck::symbolic {
namespace {

constexpr auto small_elements = static_cast<std::int64_t>(most_contents);

template <class T>
std::int64_t read_as(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> stored_element(const ir::TensorView& view, std::int64_t position) {
  const std::size_t size = ir::element_bytes(view.dtype);
  const auto& data = view.storage->data;
  if (position < 0 || size == 0 || static_cast<std::size_t>(position) >= data.size() / size) return std::nullopt;
  const auto at = static_cast<std::size_t>(position) * size;
  switch (view.dtype) {
    case ir::DType::u8:
    case ir::DType::boolean: return data[at];
    case ir::DType::i8: return read_as<std::int8_t>(&data[at]);
    case ir::DType::i16: return read_as<std::int16_t>(&data[at]);
    case ir::DType::i32: return read_as<std::int32_t>(&data[at]);
    case ir::DType::i64: return read_as<std::int64_t>(&data[at]);
    default: return std::nullopt;
  }
}

// Returns the elements of tensors whose bytes are there; other tensors are weights.
std::optional<std::vector<Dim>> small_contents(const ir::TensorView& view) {
  const std::int64_t count = view.elements();
  if (!view.storage || count > small_elements) return std::nullopt;
  std::vector<Dim> contents;
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    auto position = static_cast<std::uint64_t>(view.offset);  // wraps instead of overflowing; stored_element() looks
    for (std::size_t d = 0; d < index.size(); ++d)
      position += static_cast<std::uint64_t>(index[d]) * static_cast<std::uint64_t>(view.strides[d]);
    const auto value = stored_element(view, static_cast<std::int64_t>(position));
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
  const auto& data = view.storage->data;
  const std::size_t size = ir::element_bytes(view.dtype);
  if (size == 0 || static_cast<std::size_t>(view.offset) >= data.size() / size) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(view.offset) * size;
  if (view.dtype == ir::DType::f64) {
    double value;
    std::memcpy(&value, &data[at], sizeof value);
    return value;
  }
  if (view.dtype == ir::DType::f32) {
    float value;
    std::memcpy(&value, &data[at], sizeof value);
    return value;
  }
  return std::nullopt;
}

Fact view_fact(const ir::TensorView& view) {
  TensorFact tensor{.dtype = view.dtype,
                    .shape = Shape(view.sizes.begin(), view.sizes.end()),
                    .contents = small_contents(view),
                    .known_constant = true,
                    .quantizer = view.quantizer};
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

bool same_quantizer(const TensorFact& a, const TensorFact& b) {
  return a.quantizer == b.quantizer || (a.quantizer && b.quantizer && *a.quantizer == *b.quantizer);
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
  if (same_quantizer(a, b)) joined.quantizer = a.quantizer;
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
  if (number == std::floor(number) && std::abs(number) <= exact)
    tensor.contents = std::vector<Dim>{Dim(static_cast<std::int64_t>(number))};
  else
    tensor.fraction = number;
}

Fact fact_of(const ir::Constant& constant) {
  if (constant.is_none()) return {.value = NoneFact{}};
  if (auto* integer = constant.get<std::int64_t>())
    return {.value = NumberFact{.kind = NumberFact::Kind::integer, .integer = Dim(*integer)}};
  if (auto* floating = constant.get<double>())
    return {.value = NumberFact{.kind = NumberFact::Kind::floating, .floating = *floating}};
  if (auto* boolean = constant.get<bool>())
    return {.value = NumberFact{.kind = NumberFact::Kind::boolean, .integer = Dim(*boolean ? 1 : 0)}};
  if (auto* view = constant.get<ir::TensorView>()) return view_fact(*view);
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
  const auto found =
      std::find_if(known->parts->begin(), known->parts->end(), [&](const auto& part) { return part.first == name; });
  return found == known->parts->end() ? nothing : found->second;
}

std::vector<std::uint32_t> merge_wants(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> merged;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  if (merged.size() > most_wants) merged.resize(most_wants);
  return merged;
}

Fact join(const Fact& a, const Fact& b) {
  Fact joined;
  joined.wants = merge_wants(a.wants, b.wants);
  joined.blame = a.blame ? a.blame : b.blame;
  if (a.tensor() && b.tensor())
    joined.value = join_tensors(*a.tensor(), *b.tensor());
  else if (a.number() && b.number() && a.number()->kind == b.number()->kind)
    joined.value = join_numbers(*a.number(), *b.number());
  else if (a.list() && b.list())
    joined.value = join_lists(*a.list(), *b.list());
  else if (a.is_none() && b.is_none())
    joined.value = NoneFact{};
  else if (auto* x = std::get_if<ConstantFact>(&a.value), *y = std::get_if<ConstantFact>(&b.value);
           x && y && ir::equal(x->value, y->value))
    joined.value = *x;
  else if (auto* one = std::get_if<ObjectFact>(&a.value), *other = std::get_if<ObjectFact>(&b.value);
           one && other && one->parts == other->parts)
    joined.value = *one;
  return joined;
}

namespace {

template <class T, class Same>
bool both(const std::optional<T>& a, const std::optional<T>& b, Same same) {
  return a && b ? same(*a, *b) : !a && !b;
}

bool same_dim(const Dim& a, const Dim& b) { return a.is_unknown() ? b.is_unknown() : provably_equal(a, b); }

bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_dim);
}

bool same_value(std::monostate, std::monostate) { return true; }
bool same_value(const TensorFact& a, const TensorFact& b) {
  return a.dtype == b.dtype && both(a.shape, b.shape, same_dims) && both(a.contents, b.contents, same_dims) &&
         a.fraction == b.fraction && a.known_constant == b.known_constant && same_quantizer(a, b);
}
bool same_value(const NumberFact& a, const NumberFact& b) {
  return a.kind == b.kind && both(a.integer, b.integer, same_dim) && a.floating == b.floating;
}
bool same_value(const ListFact& a, const ListFact& b) {
  const auto items = [](const std::vector<Fact>& x, const std::vector<Fact>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  return both(a.items, b.items, items) && (a.element == b.element || (a.element && b.element && same(*a.element, *b.element)));
}
bool same_value(NoneFact, NoneFact) { return true; }
bool same_value(const ConstantFact& a, const ConstantFact& b) { return ir::equal(a.value, b.value); }
bool same_value(const ObjectFact& a, const ObjectFact& b) { return a.parts == b.parts; }

constexpr int deepest_fact = 64;

std::size_t nested_footprint(const Fact& fact, int depth) {
  if (depth > deepest_fact) return most_fact + 1;
  std::size_t bytes = sizeof(Fact) + fact.wants.size() * sizeof(std::uint32_t);
  const auto add = [&](const std::optional<std::vector<Dim>>& dims) {
    if (dims)
      for (const Dim& dim : *dims) bytes += dim.footprint();
  };
  if (const auto* tensor = fact.tensor()) {
    add(tensor->shape);
    add(tensor->contents);
    if (tensor->quantizer)
      bytes += sizeof(ir::Quantizer) + tensor->quantizer->scales.size() * (sizeof(double) + sizeof(std::int64_t));
  } else if (const auto* list = fact.list()) {
    if (list->items)
      for (const Fact& item : *list->items) bytes += nested_footprint(item, depth + 1);
    if (list->element) bytes += nested_footprint(*list->element, depth + 1);
  } else if (const auto* number = fact.number()) {
    if (number->integer) bytes += number->integer->footprint();
  } else if (const auto* constant = std::get_if<ConstantFact>(&fact.value)) {
    bytes += ir::footprint(constant->value);
  }
  return bytes;
}

}  // namespace

bool same(const Fact& a, const Fact& b) {
  if (a.wants != b.wants || a.blame != b.blame || a.value.index() != b.value.index()) return false;
  return std::visit([&](const auto& x) { return same_value(x, std::get<std::decay_t<decltype(x)>>(b.value)); }, a.value);
}

std::size_t footprint(const Fact& fact) { return nested_footprint(fact, 0); }

bool holds_exactly(ir::DType dtype, const std::vector<Dim>& contents) {
  using enum ir::DType;
  std::int64_t least = 0, most = 0;
  switch (dtype) {
    case i64: return true;
    case i32: least = -2'147'483'648, most = 2'147'483'647; break;
    case u32: most = 4'294'967'295; break;
    case i16: least = -32'768, most = 32'767; break;
    case u16: most = 65'535; break;
    case i8: least = -128, most = 127; break;
    case u8: most = 255; break;
    case f32:
    case f64: least = -16'777'216, most = 16'777'216; break;
    default: return false;
  }
  const bool holds_sizes = ir::element_bytes(dtype) >= sizeof(float);
  return std::ranges::all_of(
      contents, [&](const Dim& dim) { return dim.is_number() ? *dim.number() >= least && *dim.number() <= most : holds_sizes; });
}

std::string to_string(const Fact& fact) {
  constexpr std::size_t longest_list = 160;  // letters
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
    for (const Fact& item : *list->items) {
      if (text.size() > longest_list) return text + ", …]";
      text += (text.size() > 1 ? ", " : "") + to_string(item);
    }
    return text + "]";
  }
  return fact.is_none() ? "None" : "?";
}

}  // namespace compatcheck::symbolic
