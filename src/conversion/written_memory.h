// The limits of facts about memory that something writes, at any place.
#pragma once

#include <memory>
#include <vector>

#include "passes/alias.h"
#include "symbolic/fact.h"

namespace compatcheck::conversion {

class WrittenMemory {
 public:
  explicit WrittenMemory(std::shared_ptr<const passes::Aliases> aliases);

  // Removes the parts of the fact that a write may change.
  void forget(const ir::Value* value, symbolic::Fact& fact) const;
  // Some operator may give the tensor itself other sizes or strides.
  bool resized(const ir::Value* value) const;

 private:
  void forget_part(const ir::Value* value, symbolic::Fact& fact) const;
  void forget_member(const ir::Value* list, symbolic::Fact& member) const;

  std::shared_ptr<const passes::Aliases> aliases_;
  std::vector<bool> resized_;  // for each location: some operator changes the shape of the tensor itself
};

}  // namespace compatcheck::conversion
