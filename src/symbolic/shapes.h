// Shape arithmetic that many operators share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolic/call.h"
#include "symbolic/fact.h"

namespace compatcheck::symbolic {

// A dim of −rank … rank−1 as an index; nullopt if out of range. A rank of 0 counts as 1, as in torch.
std::optional<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank);

// A size may be 1 and stretch: 1 with anything is the other one, two different names are unknown.
Dim broadcast_dim(const Dim& a, const Dim& b);
std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);

// `dims` absent: all. nullopt if a dim is out of range.
std::optional<Shape> reduce_shape(const Shape& shape, const std::optional<std::vector<std::int64_t>>& dims, bool keep);

Dim product(const Shape& shape);

// Facts of one output.
Fact tensor_fact(std::optional<ir::DType> dtype, std::optional<Shape> shape);
Fact integer_fact(Dim value);
Fact boolean_fact(bool value);

// The first tensor argument of a call, in a list too; null if there is none.
const TensorFact* first_tensor(const Call& call);

}  // namespace compatcheck::symbolic
