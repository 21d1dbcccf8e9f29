// Random inputs that a model takes, from what is known of their types.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <vector>

#include "ir/type.h"

namespace compatcheck::frontend::torchscript {

// Models differ in what they refuse: indices out of range, lengths that aren't sorted, ranks. Attempts 0 … last vary
// that, the likely ones first; sizes that are known are never varied.
class RandomInputs {
 public:
  RandomInputs(std::vector<ir::TypeRef> types, std::uint64_t seed) : types_(std::move(types)), seed_(seed) {}
  std::size_t attempts() const;
  // The same attempt gives the same inputs. Throws ModelError for a type that no input can be made of.
  std::vector<c10::IValue> make(std::size_t attempt) const;

 private:
  std::vector<ir::TypeRef> types_;
  std::uint64_t seed_;
};

// Returns the first type that states most about an input. Null types are skipped.
ir::TypeRef most_specific(const std::vector<ir::TypeRef>& types);

}  // namespace compatcheck::frontend::torchscript
