// The graph of a function, from its syntax. Source: torch/csrc/jit/frontend/ir_emitter.cpp; what was saved has neither break,
// continue nor early returns: flags stand for them in the code.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "frontend/native/definitions.h"
#include "frontend/native/stubs.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::frontend::native {

// Code that isn't TorchScript as this reader knows it; another result of an assumed schema may mend it.
struct Unsupported : ModelError {
  using ModelError::ModelError;
};

// The data that emitted functions share.
struct Code {
  Definitions& definitions;
  const schema::Registry& schemas;
  std::vector<std::pair<ir::Constant, ir::TypeRef>> constants{};  // CONSTANTS.c0 …
  std::uint64_t version = 0;                                      // the operators' version in the archive
  Stubs& stubs;
  const ir::Watch& watch;
  std::function<void(const FunctionDefinition&)> called{};  // called with each free function that the code calls
  std::function<std::string(std::string, ir::Function)>
      outlined{};                     // keeps the body of a fork; returns its name, derived from the given one
  std::set<std::string> operators{};  // operators that the code calls
  TypeBounds types{};
  std::size_t constant_bytes = 0;  // total size of the graphs' constants
  bool traced = false;             // some of the code was made by tracing
};

// `name`: qualified. `self`: the class of a method; null for functions. Throws ModelError, which names the place; Unsupported.
ir::Function emit(Code& code, const std::string& name, const FunctionSyntax& syntax, CodeFile& file, const ir::TypeRef& self);

// The value of a constant expression as one of `type`, where that is stated.
ir::Constant constant_value(Code& code, const Expression& expression, const ir::TypeRef& type = nullptr);

}  // namespace compatcheck::frontend::native
