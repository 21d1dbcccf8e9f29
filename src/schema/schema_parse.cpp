#include <algorithm>

#include "compatcheck/error.h"
#include "ir/literal.h"
#include "ir/scanner.h"
#include "ir/type_text.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

using ir::Scanner;
using ir::TypeKind;
using ir::TypeRef;

constexpr int max_depth = 100;  // everybody who walks a type recurses

// Types as graphs spell them, with alias sets, list sizes and type variables in between.
class SchemaReader {
 public:
  explicit SchemaReader(std::string_view text)
      : s_(text, "schema", [](const ir::Fault& fault) { throw ParseError(fault.whole, fault.reason, fault.position); }) {}

  Schema read() {
    Schema schema;
    schema.name = s_.identifier();
    if (schema.name.empty()) s_.fail_expected("an operator's name");
    while (s_.raw_rest().starts_with("::")) {
      s_.raw_advance(2);
      schema.name += "::" + std::string(word("a name after '::'"));
    }
    split_overload(schema);
    s_.expect("(", "before the arguments");
    read_arguments(schema);
    s_.expect("->", "after the arguments");
    read_returns(schema);
    if (!s_.at_end()) s_.fail_expected("the end of the schema");
    return schema;
  }

 private:
  static void split_overload(Schema& schema) {
    const std::size_t colons = schema.name.rfind("::");
    const std::size_t dot = schema.name.find('.', colons == std::string::npos ? 0 : colons);
    if (dot == std::string::npos) return;
    schema.overload = schema.name.substr(dot + 1);
    schema.name.resize(dot);
  }

  void read_arguments(Schema& schema) {
    bool keyword_only = false;
    while (!s_.accept(")")) {
      if (s_.accept("...")) {
        schema.variadic_arguments = true;
        s_.expect(")", "after '...'");
        return;
      }
      if (s_.accept("*")) {
        keyword_only = true;
      } else {
        Argument argument = read_argument();
        argument.keyword_only = keyword_only;
        schema.arguments.push_back(std::move(argument));
      }
      if (!s_.looking_at(")")) s_.expect(",", "or ')' after an argument");
    }
  }

  Argument read_argument() {
    Argument argument;
    argument.type = read_type(argument);
    argument.name = word("the argument's name");
    if (s_.accept("=")) argument.default_value = read_default(argument);
    return argument;
  }

  ir::Constant read_default(const Argument& argument) {
    ir::Constant value = ir::as_type(ir::read_literal(s_), argument.type);
    const TypeRef& type = ir::is(argument.type, TypeKind::optional) ? argument.type->elements[0] : argument.type;
    // "int[2] stride=1" stands for both.
    if (argument.list_size && ir::is(type, TypeKind::list) && !value.is_none() && !value.get<ir::ListConstant>())
      return {ir::ListConstant{type->elements[0], ir::Constants(*argument.list_size, ir::as_type(value, type->elements[0]))}};
    return value;
  }

  void read_returns(Schema& schema) {
    if (s_.accept("...")) {
      schema.variadic_returns = true;
      return;
    }
    if (!s_.accept("(")) {
      schema.returns.push_back(read_return());
      return;
    }
    while (!s_.accept(")")) {
      if (s_.accept("..."))
        schema.variadic_returns = true;
      else
        schema.returns.push_back(read_return());
      if (!s_.looking_at(")")) s_.expect(",", "or ')' after a return");
    }
  }

  Argument read_return() {
    Argument result;
    result.type = read_type(result);
    result.name = s_.identifier();
    return result;
  }

  // A base, its alias set, then list sizes and '?'.
  TypeRef read_type(Argument& argument) {
    Scanner::Nesting nesting(s_);
    TypeRef type = read_base();
    if (s_.looking_at("(")) read_alias(argument);
    const bool aliased = !argument.alias_set.empty();
    for (;; deepen()) {
      if (s_.accept("[")) {
        type = read_list(std::move(type), argument);
        argument.alias_of_elements = aliased;
        if (s_.looking_at("(")) read_alias(argument);
      } else if (s_.accept("?")) {
        type = ir::optional_of(std::move(type));
      } else {
        return type;
      }
    }
  }

  TypeRef read_list(TypeRef element, Argument& argument) {
    if (!s_.accept("]")) {
      const auto size = s_.number();
      if (!size || !std::holds_alternative<std::int64_t>(*size) || std::get<std::int64_t>(*size) < 1 ||
          std::get<std::int64_t>(*size) > 64)
        s_.fail_expected("a list's size from 1 to 64, or ']'");
      argument.list_size = static_cast<std::size_t>(std::get<std::int64_t>(*size));
      s_.expect("]", "after the list's size");
    }
    return ir::list_of(std::move(element));
  }

  // "(a!)", "(a -> *)", "(b|a)", "(*)".
  void read_alias(Argument& argument) {
    s_.expect("(", "");
    argument.alias_set = read_sets();
    argument.written = s_.accept("!");
    if (s_.accept("->")) argument.contained_after = read_sets() == "*";
    s_.expect(")", "after the alias set");
  }

  std::string read_sets() {
    std::string sets;
    do {
      if (!sets.empty()) sets += '|';
      sets += s_.accept("*") ? std::string("*") : std::string(word("an alias set"));
    } while (s_.accept("|"));
    return sets;
  }

  TypeRef read_base() {
    depth_ = 0;
    if (s_.accept("(")) return ir::tuple_of(read_elements(")"));
    const std::string_view name = word("a type");
    if (name == "SymInt") return ir::simple_type(TypeKind::integer);
    if (name == "SymFloat") return ir::simple_type(TypeKind::floating);
    if (name == "SymBool") return ir::simple_type(TypeKind::boolean);
    if (auto type = ir::type_of_word(name)) return type;
    if (name == "Dict") {
      s_.expect("(", "after Dict");
      auto elements = read_elements(")");
      if (elements.size() != 2) s_.fail_at(s_.position(), "a Dict has a key and a value");
      return ir::dict_of(elements[0], elements[1]);
    }
    if (name == "Future" || name == "RRef" || name == "Await" || name == "Union") return read_wrapped(name);
    auto type = std::make_shared<ir::Type>();
    const bool variable = name.front() >= 'a' && name.front() <= 'z';
    type->kind = variable ? TypeKind::var : TypeKind::named;
    type->name = name;
    return type;
  }

  TypeRef read_wrapped(std::string_view name) {
    auto type = std::make_shared<ir::Type>();
    type->kind = name == "Future"  ? TypeKind::future
                 : name == "RRef"  ? TypeKind::rref
                 : name == "Await" ? TypeKind::await_of
                                   : TypeKind::union_of;
    const bool round = s_.accept("(");
    if (!round) s_.expect("[", "after " + std::string(name));
    type->elements = read_elements(round ? ")" : "]");
    if (type->elements.empty()) s_.fail_at(s_.position(), std::string(name) + " needs a type");
    return type;
  }

  std::vector<TypeRef> read_elements(std::string_view close) {
    std::vector<TypeRef> elements;
    int deepest = 0;
    while (!s_.accept(close)) {
      Argument inner;  // alias sets inside a tuple or dict say nothing of the whole
      elements.push_back(read_type(inner));
      deepest = std::max(deepest, depth_);
      s_.identifier();
      if (!s_.looking_at(close)) s_.expect(",", "in the type");
    }
    depth_ = deepest;
    deepen();
    return elements;
  }

  void deepen() {
    if (++depth_ > max_depth) s_.fail_at(s_.position(), "a type nested more than " + std::to_string(max_depth) + " deep");
  }

  std::string_view word(std::string_view what) {
    const std::string_view found = s_.identifier();
    if (found.empty()) s_.fail_expected(what);
    return found;
  }

  Scanner s_;
  int depth_ = 0;  // depth of the type that was read last
};

}  // namespace

Schema parse(std::string_view text) { return SchemaReader(text).read(); }

std::optional<std::size_t> Schema::argument_index(std::string_view argument) const {
  const auto at = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == argument; });
  if (at == arguments.end()) return std::nullopt;
  return static_cast<std::size_t>(at - arguments.begin());
}

bool Schema::writes() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return a.written; });
}

bool Schema::is_out() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return a.written && a.keyword_only; });
}

}  // namespace compatcheck::schema
