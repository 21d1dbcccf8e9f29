// Which overload of an operator a call means, and the implicit conversions of its arguments.
// Source: torch/csrc/jit/frontend/schema_matching.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/native/graph_builder.h"
#include "frontend/native/typing.h"
#include "schema/schema.h"

namespace compatcheck::frontend::native {

struct Arguments {
  std::vector<Typed> positional;
  std::vector<std::pair<std::string_view, Typed>> keywords;
};

// The value as one of type `to`, with TorchScript's implicit conversions if `allowed`; nullopt if it can't be. Without a builder
// nothing is emitted.
std::optional<Typed> converted(Typed value, const ir::TypeRef& to, bool allowed, GraphBuilder* builder,
                               const Interfaces& interfaces);

// A call that matches a schema: the inputs in the schema's order, and the results' types.
struct Matched {
  const schema::Schema* schema = nullptr;
  std::vector<Typed> inputs;
  std::vector<ir::TypeRef> results;
};
// nullopt: no overload fits.
std::optional<Matched> match(std::span<const schema::Schema* const> overloads, const Arguments& given, GraphBuilder& builder,
                             const Interfaces& interfaces);

}  // namespace compatcheck::frontend::native
