// PyTorch's type promotion.
// Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc and c10/core/ScalarType.cpp.
#pragma once

#include <optional>

#include "ir/dtype.h"
#include "symbolic/fact.h"

namespace compatcheck::symbolic {

inline constexpr ir::DType default_float = ir::DType::f32;

// torch.promote_types; nullopt for pairs that torch refuses (quantized, u64 with a signed type …).
std::optional<ir::DType> promote_types(ir::DType a, ir::DType b);

// Integers and bool as the default float, as true division and sin() make them.
ir::DType to_float(ir::DType dtype);
// The dtype of the real and imaginary parts.
ir::DType real_part(ir::DType dtype);

// to_float and real_part of a dtype that may not be known, and the complex dtype whose parts have this precision.
std::optional<ir::DType> as_float(std::optional<ir::DType> dtype);
std::optional<ir::DType> as_real(std::optional<ir::DType> dtype);
std::optional<ir::DType> as_complex(std::optional<ir::DType> dtype);

Fact real_fact(const TensorFact& tensor);  // same shape, in the dtype of the real and imaginary parts
// Returns the fact of the real or imaginary parts of complex tensors, also in lists. Nothing else is known of these parts.
Fact part_of(Fact fact);

// torch.result_type of any number of operands: tensors with dimensions decide before 0-d tensors, and those before
// Python numbers, as long as they are of the same kind (bool, integer, floating, complex).
class Promotion {
 public:
  void add(const Fact& operand);  // a tensor or a number; None is skipped
  // nullopt while an operand isn't known well enough.
  std::optional<ir::DType> result() const;

 private:
  void add(std::optional<ir::DType>& category, ir::DType dtype);
  std::optional<ir::DType> dimensioned_, zero_dimensional_, wrapped_;
  std::optional<ir::DType> unranked_;  // dtype of tensors that may belong to either of the first two
  bool unknown_ = false;
};

}  // namespace compatcheck::symbolic
