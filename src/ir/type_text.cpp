#include "ir/type_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compatcheck/error.h"
#include "ir/literal.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

constexpr std::pair<std::string_view, TypeKind> words[] = {
    {"Tensor", TypeKind::tensor},        {"int", TypeKind::integer},
    {"float", TypeKind::floating},       {"bool", TypeKind::boolean},
    {"complex", TypeKind::complex},      {"Scalar", TypeKind::number},
    {"number", TypeKind::number},        {"str", TypeKind::string},
    {"NoneType", TypeKind::none},        {"None", TypeKind::none},
    {"Device", TypeKind::device},        {"Generator", TypeKind::generator},
    {"Layout", TypeKind::layout},        {"MemoryFormat", TypeKind::memory_format},
    {"ScalarType", TypeKind::scalar_type}, {"QScheme", TypeKind::qscheme},
    {"Stream", TypeKind::stream},        {"Storage", TypeKind::storage},
    {"Function", TypeKind::function},    {"Any", TypeKind::any},
    {"list", TypeKind::any_list},        {"tuple", TypeKind::any_tuple},
    {"AnyClassType", TypeKind::any_class}, {"Capsule", TypeKind::capsule},
};

using Sizes = std::vector<std::optional<std::int64_t>>;

// A number, or `*` and names for unknown ones.
std::optional<std::int64_t> read_size(Scanner& s) {
  if (s.accept("*") || s.accept("?")) return std::nullopt;
  if (auto number = s.number()) {
    if (const auto* size = std::get_if<std::int64_t>(&*number)) return *size;
  }
  if (s.accept("SS(")) {  // a symbolic size of the profiling executor
    s.number();
    s.expect(")", "after the symbolic size");
    return std::nullopt;
  }
  if (s.identifier().empty()) s.fail_expected("a size");
  return std::nullopt;
}

Sizes read_strides(Scanner& s) {
  Sizes strides;
  s.expect("[", "before the strides");
  while (!s.accept("]")) {
    strides.push_back(read_size(s));
    if (!s.looking_at("]")) s.expect(",", "between strides");
  }
  return strides;
}

std::string read_device(Scanner& s) {
  std::string device(s.identifier());
  if (device.empty()) s.fail_expected("a device");
  if (s.accept(":")) {
    if (auto index = s.number(); index && std::holds_alternative<std::int64_t>(*index))
      device += ':' + std::to_string(std::get<std::int64_t>(*index));
    else
      s.fail_expected("a device's number");
  }
  return device;
}

// After the opening parenthesis. Without a size, "Float()" has rank 0 and "Tensor(device=cpu)" an unknown one:
// `ranked` tells whether the word before it can be of unknown rank.
void read_tensor_members(Scanner& s, TensorType& tensor, bool ranked) {
  Sizes sizes;
  bool sized = false;
  while (!s.accept(")")) {
    if (s.accept("strides=")) tensor.strides = read_strides(s);
    else if (s.accept("requires_grad=")) tensor.requires_grad = !s.accept("0") && (s.accept("1"), true);
    else if (s.accept("device=")) tensor.device = read_device(s);
    else sizes.push_back(read_size(s)), sized = true;
    if (!s.looking_at(")")) s.expect(",", "or ')' in the tensor's type");
  }
  if (sized || ranked) tensor.sizes = std::move(sizes);
}

// "Float", "FloatTensor", "Tensor": nullopt if it is another word.
std::optional<TensorType> tensor_word(std::string_view word) {
  TensorType tensor;
  if (word == "Tensor") return tensor;
  if (tensor.dtype = dtype_from_torch_name(word); tensor.dtype) return tensor;
  if (!word.ends_with("Tensor")) return std::nullopt;
  word.remove_suffix(6);
  if (tensor.dtype = dtype_from_torch_name(word); tensor.dtype) return tensor;
  return std::nullopt;
}

TypeRef read_tensor(Scanner& s, std::string_view word, TensorType tensor) {
  const bool ranked = !word.ends_with("Tensor");
  if (s.accept("(")) {
    const bool empty = s.looking_at(")");
    read_tensor_members(s, tensor, ranked || empty);
  }
  s.accept("[Undefined]");
  return tensor_type(std::move(tensor));
}

TypeRef read_named_tuple(Scanner& s) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::tuple;
  if (s.accept("[")) {
    type->name = s.identifier();
    s.expect("]", "after the NamedTuple's name");
  }
  s.expect("(", "after NamedTuple");
  while (!s.accept(")")) {
    const std::string_view field = s.identifier();
    if (field.empty()) s.fail_expected("a field's name");
    type->field_names.emplace_back(field);
    s.expect(":", "after the field's name");
    type->elements.push_back(read_type(s));
    if (s.accept("=")) read_literal(s);  // a default value: of no use in a graph
    if (!s.looking_at(")")) s.expect(",", "or ')' after the field");
  }
  return type;
}

std::vector<TypeRef> read_elements(Scanner& s, std::string_view close) {
  std::vector<TypeRef> elements;
  if (s.accept("()")) {  // Python's spelling of the empty tuple: Tuple[()]
    s.expect(close, "");
    return elements;
  }
  while (!s.accept(close)) {
    elements.push_back(read_type(s));
    if (!s.looking_at(close)) s.expect(",", "or '" + std::string(close) + "' in the type");
  }
  return elements;
}

struct Generic {
  std::string_view word;
  TypeKind kind;
  std::size_t arity;  // 0: any
};
constexpr Generic generics[] = {
    {"Dict", TypeKind::dict, 2},   {"List", TypeKind::list, 1},   {"Optional", TypeKind::optional, 1},
    {"Tuple", TypeKind::tuple, 0}, {"Union", TypeKind::union_of, 0}, {"Future", TypeKind::future, 1},
    {"RRef", TypeKind::rref, 1},   {"Await", TypeKind::await_of, 1},
};

// Null unless the word is generic and an opening bracket follows.
TypeRef read_generic(Scanner& s, std::string_view word) {
  const auto* generic = std::find_if(std::begin(generics), std::end(generics), [&](const Generic& g) { return g.word == word; });
  if (generic == std::end(generics)) return nullptr;
  std::string_view close;
  if (s.accept("(")) close = ")";
  else if (s.accept("[")) close = "]";
  else return nullptr;
  auto type = std::make_shared<Type>();
  type->kind = generic->kind;
  type->elements = read_elements(s, close);
  if (generic->arity != 0 && type->elements.size() != generic->arity)
    s.fail_expected(std::to_string(generic->arity) + " types in " + std::string(word));
  return type;
}

TypeRef read_base(Scanner& s) {
  if (s.accept("(")) return tuple_of(read_elements(s, ")"));
  const std::string_view word = s.identifier();
  if (word.empty()) s.fail_expected("a type");
  if (word == "NamedTuple") return read_named_tuple(s);
  if ((word == "Enum" || word == "InterfaceType") && s.accept("<")) {
    auto type = named_type(std::string(s.identifier()));
    s.expect(">", "after the name");
    return type;
  }
  if (auto tensor = tensor_word(word)) return read_tensor(s, word, *std::move(tensor));
  if (auto type = type_of_word(word)) return type;
  if (auto type = read_generic(s, word)) return type;
  return named_type(std::string(word));
}

}  // namespace

TypeRef type_of_word(std::string_view word) {
  for (const auto& [spelled, kind] : words)
    if (spelled == word) return simple_type(kind);
  return nullptr;
}

TypeRef read_type(Scanner& s) {
  Scanner::Nesting nesting(s);
  TypeRef type = read_base(s);
  for (int suffixes = 0;; ++suffixes) {
    if (suffixes > 100) s.fail_at(s.position(), "a type nested more than 100 deep");
    if (s.accept("[]")) type = list_of(type);
    else if (s.accept("?")) type = optional_of(type);
    else return type;
  }
}

TypeRef parse_type(std::string_view text) {
  Scanner scanner(text, "<type>", [](const std::string& message) { throw ModelError(message); });
  TypeRef type = read_type(scanner);
  if (!scanner.at_end()) scanner.fail_expected("the end of the type");
  return type;
}

}  // namespace compatcheck::ir
