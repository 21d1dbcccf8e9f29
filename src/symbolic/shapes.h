// Shape arithmetic that many operators share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbolic/call.h"
#include "symbolic/fact.h"

namespace compatcheck::symbolic {

using Facts = std::vector<Fact>;  // facts of a call's outputs

// Facts can't be stated: PyTorch refuses a call with such arguments.
struct Impossible {
  std::string reason;
};

// A dim of −rank … rank−1 as an index; nullopt if out of range. A rank of 0 counts as 1, as in torch.
std::optional<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank);

// A size may be 1 and stretch: 1 with anything is the other one, two different names are unknown. Throws Impossible for two
// numbers that don't broadcast.
Dim broadcast_dim(const Dim& a, const Dim& b);
std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);
// Two statements of one size that must be equal: returns the more precise one. Throws Impossible if they can't be equal.
Dim agreed_dim(const Dim& a, const Dim& b);

// `dims` absent: all. nullopt if a dim is out of range.
std::optional<Shape> reduce_shape(const Shape& shape, const std::optional<std::vector<std::int64_t>>& dims, bool keep);

Dim product(const Shape& shape);
Dim ceil_div(const Dim& a, const Dim& b);
Shape unknown_sizes(std::size_t rank);
// The `count` members of an int[] argument, of which one may stand for all; unknown ones if the list isn't known or has another
// length.
Shape sizes_of(const std::optional<std::vector<Dim>>& list, std::size_t count);

// Facts of one output.
Fact tensor_fact(std::optional<ir::DType> dtype, std::optional<Shape> shape);
Fact like(const TensorFact& tensor);  // dtype and shape
Fact integer_fact(Dim value);
Fact floating_fact(std::optional<double> value);
Fact boolean_fact(std::optional<bool> value);
Fact list_fact(Facts items);
Fact list_of(Fact element);  // unknown length

// Two outputs: like the tensor, and of its shape in another dtype.
Facts like_and(const TensorFact& tensor, ir::DType dtype);

// The first tensor argument that a call has, also in a list; null if there is none or nothing is known.
const TensorFact* first_tensor(const Call& call);
// An argument as a tensor; of which nothing is known if it isn't one.
const TensorFact& tensor_of(const Call& call, std::string_view argument);
inline const TensorFact& self_of(const Call& call) { return tensor_of(call, "self"); }
Facts like_self(const Call& call);
// An int argument that names a dimension of `tensor`; throws Impossible where it has none such.
std::optional<std::size_t> dim_index(const Call& call, std::string_view argument, const TensorFact& tensor);
// The `dtype` argument, or else.
std::optional<ir::DType> dtype_or(const Call& call, std::optional<ir::DType> otherwise);
Dim size_at(const TensorFact& tensor, std::size_t index);

}  // namespace compatcheck::symbolic
