#include "symbolic/matrix.h"

namespace compatcheck::symbolic {

std::optional<Matrix> matrix_of(const TensorFact& tensor) {
  if (!tensor.shape || tensor.shape->size() < 2) return std::nullopt;
  const Shape& shape = *tensor.shape;
  return Matrix{tensor.dtype, Shape(shape.begin(), shape.end() - 2), shape[shape.size() - 2], shape.back()};
}

std::optional<Matrix> first_matrix(const Call& call) {
  for (const char* name : {"A", "self", "input", "LU"})
    if (call.has(name)) return matrix_of(tensor_of(call, name));
  return std::nullopt;
}

}  // namespace compatcheck::symbolic
