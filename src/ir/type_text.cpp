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
    {"Tensor", TypeKind::tensor},          {"int", TypeKind::integer},
    {"float", TypeKind::floating},         {"bool", TypeKind::boolean},
    {"complex", TypeKind::complex},        {"Scalar", TypeKind::number},
    {"number", TypeKind::number},          {"str", TypeKind::string},
    {"NoneType", TypeKind::none},          {"None", TypeKind::none},
    {"Device", TypeKind::device},          {"Generator", TypeKind::generator},
    {"Layout", TypeKind::layout},          {"MemoryFormat", TypeKind::memory_format},
    {"ScalarType", TypeKind::scalar_type}, {"QScheme", TypeKind::qscheme},
    {"Stream", TypeKind::stream},          {"Storage", TypeKind::storage},
    {"Function", TypeKind::function},      {"Any", TypeKind::any},
    {"list", TypeKind::any_list},          {"tuple", TypeKind::any_tuple},
    {"AnyClassType", TypeKind::any_class}, {"Capsule", TypeKind::capsule},
};

using Sizes = std::vector<std::optional<std::int64_t>>;

// A number, or `*` and names for unknown ones.
std::optional<std::int64_t> read_size(Scanner& s) {
  if (s.accept("*") || s.accept("?")) return std::nullopt;
  if (auto number = s.number()) {
    if (const auto* size = std::get_if<std::int64_t>(&*number)) return *size >= 0 ? std::optional(*size) : std::nullopt;
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
    if (s.accept("strides="))
      tensor.strides = read_strides(s);
    else if (s.accept("requires_grad="))
      tensor.requires_grad = !s.accept("0") && (s.accept("1"), true);
    else if (s.accept("device="))
      tensor.device = read_device(s);
    else
      sizes.push_back(read_size(s)), sized = true;
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

struct Generic {
  std::string_view word;
  TypeKind kind;
  std::size_t arity;  // 0: any
};
constexpr Generic generics[] = {
    {"Dict", TypeKind::dict, 2},   {"List", TypeKind::list, 1},      {"Optional", TypeKind::optional, 1},
    {"Tuple", TypeKind::tuple, 0}, {"Union", TypeKind::union_of, 0}, {"Future", TypeKind::future, 1},
    {"RRef", TypeKind::rref, 1},   {"Await", TypeKind::await_of, 1},
};

constexpr int deepest_type = 100;  // everybody who walks a type recurses

class TypeReader {
 public:
  explicit TypeReader(Scanner& scanner) : s_(scanner) {}

  TypeRef read() {
    Scanner::Nesting nesting(s_);
    TypeRef type = base();
    for (;;) {
      if (s_.accept("[]"))
        type = list_of(type);
      else if (s_.accept("?"))
        type = optional_of(type);
      else
        return type;
      deepen();
    }
  }

 private:
  TypeRef base() {
    depth_ = 0;
    if (s_.accept("(")) return tuple_of(elements(")"));
    const std::string_view word = s_.identifier();
    if (word.empty()) s_.fail_expected("a type");
    if (word == "NamedTuple") return named_tuple();
    if ((word == "Enum" || word == "InterfaceType") && s_.accept("<")) {
      auto type = named_type(std::string(s_.identifier()));
      s_.expect(">", "after the name");
      return type;
    }
    if (auto tensor = tensor_word(word)) return read_tensor(s_, word, *std::move(tensor));
    if (auto type = type_of_word(word)) return type;
    if (auto type = generic(word)) return type;
    return named_type(std::string(word));
  }

  TypeRef named_tuple() {
    auto type = std::make_shared<Type>();
    type->kind = TypeKind::tuple;
    if (s_.accept("[")) {
      type->name = s_.identifier();
      s_.expect("]", "after the NamedTuple's name");
    }
    s_.expect("(", "after NamedTuple");
    int deepest = 0;
    while (!s_.accept(")")) {
      const std::string_view field = s_.identifier();
      if (field.empty()) s_.fail_expected("a field's name");
      type->field_names.emplace_back(field);
      s_.expect(":", "after the field's name");
      type->elements.push_back(read());
      deepest = std::max(deepest, depth_);
      if (s_.accept("=")) read_literal(s_);  // a default value: of no use in a graph
      if (!s_.looking_at(")")) s_.expect(",", "or ')' after the field");
    }
    depth_ = deepest;
    deepen();
    return type;
  }

  // Null unless the word is generic and an opening bracket follows.
  TypeRef generic(std::string_view word) {
    const auto* generic =
        std::find_if(std::begin(generics), std::end(generics), [&](const Generic& g) { return g.word == word; });
    if (generic == std::end(generics)) return nullptr;
    std::string_view close;
    if (s_.accept("("))
      close = ")";
    else if (s_.accept("["))
      close = "]";
    else
      return nullptr;
    auto type = std::make_shared<Type>();
    type->kind = generic->kind;
    if (close == "]" && s_.accept("()"))
      s_.expect("]", "after Tuple[()");  // Python's empty tuple
    else
      type->elements = elements(close);
    if (generic->arity != 0 && type->elements.size() != generic->arity)
      s_.fail_expected(std::to_string(generic->arity) + (generic->arity == 1 ? " type in " : " types in ") + std::string(word));
    return type;
  }

  std::vector<TypeRef> elements(std::string_view close) {
    std::vector<TypeRef> all;
    int deepest = 0;
    while (!s_.accept(close)) {
      all.push_back(read());
      deepest = std::max(deepest, depth_);
      if (!s_.looking_at(close)) s_.expect(",", "or '" + std::string(close) + "' in the type");
    }
    depth_ = deepest;
    deepen();
    return all;
  }

  void deepen() {
    if (++depth_ > deepest_type) s_.fail_at(s_.position(), "a type nested more than " + std::to_string(deepest_type) + " deep");
  }

  Scanner& s_;
  int depth_ = 0;  // depth of the type that was read last
};

}  // namespace

TypeRef type_of_word(std::string_view word) {
  for (const auto& [spelled, kind] : words)
    if (spelled == word) return simple_type(kind);
  return nullptr;
}

TypeRef read_type(Scanner& s) { return TypeReader(s).read(); }

TypeRef parse_type(std::string_view text) {
  Scanner scanner(text, "<type>", [](const Fault& fault) { throw ModelError(fault.whole); });
  TypeRef type = read_type(scanner);
  if (!scanner.at_end()) scanner.fail_expected("the end of the type");
  return type;
}

}  // namespace compatcheck::ir
