// Operator schemas: names, types, defaults and aliasing of arguments. Shipped: every schema that libtorch 2.13
// registers, and those of libraries; users add their own.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/error.h"
#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/type.h"

namespace compatcheck::schema {

struct Argument {
  std::string name;
  ir::TypeRef type;
  std::optional<ir::Constant> default_value;
  std::optional<std::size_t> list_size;  // int[2]: a single int is broadcast to it
  bool keyword_only = false;
  std::string alias_set;           // "a" of Tensor(a!), "*" of Tensor(*), "b|a"; empty: none
  bool written = false;            // the "!"
  bool alias_of_elements = false;  // Tensor(a)[]: of the list's elements, not of the list as in Tensor[](a)
  bool contained_after = false;    // "(a -> *)": afterwards part of a list or dict, so anything may alias it
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; empty for the default one
  std::vector<Argument> arguments;
  std::vector<Argument> returns;  // name may be empty
  bool variadic_arguments = false;
  bool variadic_returns = false;

  std::optional<std::size_t> argument_index(std::string_view argument) const;
  bool writes() const;  // some argument is written
  bool is_out() const;  // has keyword-only written arguments: an `out=` form
};

// A text that is no schema.
struct ParseError : TableError {
  ParseError(const std::string& message, std::string why, std::size_t where)
      : TableError(message), reason(std::move(why)), position(where) {}
  std::string reason;
  std::size_t position;  // offset in the text
};

// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". Throws ParseError.
Schema parse(std::string_view text);
// As libtorch prints it, but for SymInt and SymBool, which are int and bool here, floats, which are as short as they
// read back, and defaults of sized lists, which are one number if all are equal.
std::string to_string(const Schema& schema);

// The schemas in force. Overloads are parsed when first asked for, so construction costs nothing.
// Safe to read from several threads.
class Registry {
 public:
  Registry();  // the shipped schemas
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  // A user's schema or a stub; replaces one of the same name and overload. Throws ParseError.
  void add(std::string_view schema);

  // All overloads of "aten::add", in libtorch's order; empty if nobody ships it.
  std::span<const Schema* const> overloads(std::string_view name) const;
  const Schema* find(std::string_view name, std::string_view overload) const;
  bool contains(std::string_view name) const;
  std::vector<std::string_view> names() const;  // sorted

  // "aten::add_" → "aten::add" where the first is the in-place form of the second, else nullopt.
  std::optional<std::string> functional_form(std::string_view name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The overload that TorchScript would call for these inputs, by count and types; null if none fits or the name is
// unknown. Does not write to the node.
const Schema* match(const ir::Node& node, const Registry& registry);

// Sets schema and overload of every aten and custom node in the graph, nested blocks included.
void resolve(ir::Graph& graph, const Registry& registry);

}  // namespace compatcheck::schema
