// Arguments that hold indices or masks: whole numbers or truth values, whatever the tensor that they pick from holds.
#pragma once

#include <optional>
#include <vector>

#include "symbolic/registry.h"

namespace compatcheck::symbolic {

struct IndexArgument {
  enum class Kind : std::uint8_t {
    indices,           // whole numbers
    indices_or_masks,  // whole numbers, or truth values that stand for where they hold
    masks,
    bits,  // integers or booleans whose bits an operator works on
  } kind = Kind::indices;
  const ir::Value* value = nullptr;
  std::optional<Dim> below{};  // upper bound of indices (exclusive), if known
};

// The index arguments of a call, members of lists too.
std::vector<IndexArgument> index_arguments(const Call& call);

// PyTorch takes no floats there, and numbers for no mask.
Verdict indices_have_dtypes(const Call& call);

// Returns the size of a tensor's dimension, counted from the end where `dim` is negative; nullopt where it isn't known or doesn't
// exist.
std::optional<Dim> size_of(const Fact& fact, std::optional<std::int64_t> dim);

}  // namespace compatcheck::symbolic
