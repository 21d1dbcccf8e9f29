// Stand-ins for operators and classes that nobody registered, so that the model can be loaded all the same.
#pragma once

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/compilation_unit.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/native/stubs.h"
#include "frontend/torchscript/archive.h"
#include "frontend/torchscript/sources.h"
#include "ir/program.h"
#include "schema/schema.h"

namespace compatcheck::frontend::torchscript {

// Registers for as long as it lives: the next model may need other ones of the same name.
class Stubs {
 public:
  // `schemas` are users'. Throws UsageError for one that can't be read.
  Stubs(const Archive& archive, Sources& sources, const std::vector<std::string>& schemas);
  ~Stubs();
  Stubs(const Stubs&) = delete;
  Stubs& operator=(const Stubs&) = delete;

  // Classes that nobody registered, without attributes, with the methods that the code calls.
  void define_classes(const std::shared_ptr<torch::jit::CompilationUnit>& unit) const;

  // After libtorch refused the code: whether there is something else to try. What is tried is registered.
  bool learn_from(const std::string& refusal);

  // The schemas in force and what was assumed, with the types that the converted graphs show.
  void describe(ir::Program& program) const;

 private:
  void look_up(const std::set<std::string>& names);
  bool use_known_schema(const std::string& name);
  void register_stubs();
  void unregister_stubs();
  void add_schema(const std::string& text);

  const Archive& archive_;
  schema::Registry shipped_;
  std::map<std::string, std::vector<std::string>> users_;  // operator -> users' schemas
  std::set<std::string> looked_up_;
  std::vector<std::string> known_;  // registered schemas: users' and shipped
  std::set<std::string> classes_;
  native::Stubs assumed_;
  std::vector<c10::FunctionSchema> registered_, stubs_;
  std::size_t attempts_ = 0;
};

}  // namespace compatcheck::frontend::torchscript
