// c10's types as the IR's.
#pragma once

#include <ATen/core/jit_type.h>

#include <unordered_map>
#include <vector>

#include "ir/type.h"

namespace compatcheck::frontend::torchscript {

class Types {
 public:
  ir::TypeRef convert(const c10::TypePtr& type);
  // Classes, interfaces and enums met since the last call.
  std::vector<c10::NamedTypePtr> take_met();

 private:
  ir::TypeRef make(const c10::TypePtr& type);
  ir::TypeRef make_tuple(const c10::TupleType& tuple);
  ir::TypeRef make_named(const c10::NamedTypePtr& named, bool module);
  ir::TypeRef contained(ir::TypeKind kind, const c10::TypePtr& type);
  void count_parts(const ir::Type& type);

  struct Known {
    c10::TypePtr keeps_alive;  // the key is its address
    ir::TypeRef type;
  };
  std::unordered_map<const c10::Type*, Known> known_;
  std::unordered_map<const ir::Type*, std::size_t> parts_;  // number of parts of each type in known_ that holds others
  std::vector<c10::NamedTypePtr> met_;
  std::size_t depth_ = 0;
};

ir::TensorType tensor_type(const c10::TensorType& type);

}  // namespace compatcheck::frontend::torchscript
