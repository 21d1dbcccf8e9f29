// Matrices with any batch in front.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

struct Matrix {
  std::optional<ir::DType> dtype;
  Shape batch;
  Dim rows, columns;

  Dim smaller() const {
    if (rows.is_number() && columns.is_number()) return std::min(*rows.number(), *columns.number());
    return provably_equal(rows, columns) ? rows : Dim::unknown();
  }
  Fact with(std::optional<ir::DType> type, std::initializer_list<Dim> last) const {
    Shape shape = batch;
    shape.insert(shape.end(), last);
    return tensor_fact(type, std::move(shape));
  }
  Fact with(std::initializer_list<Dim> last) const { return with(dtype, last); }
  std::optional<ir::DType> real() const { return as_real(dtype); }
  std::optional<ir::DType> complex() const {
    if (!dtype) return dtype;
    return *dtype == ir::DType::f32 ? ir::DType::c64 : *dtype == ir::DType::f64 ? ir::DType::c128 : *dtype;
  }
};

std::optional<Matrix> matrix_of(const TensorFact& tensor);  // nullopt while nothing is known of its rank
std::optional<Matrix> first_matrix(const Call& call);       // "A", "self", "input" or "LU"

// A rule for a call whose first matrix is known; else nothing is stated but that there are tensors.
template <Facts (*rule)(const Call&, const Matrix&)>
Facts of_matrix(const Call& call) {
  const auto known = first_matrix(call);
  return known ? rule(call, *known) : Facts{};
}

}  // namespace compatcheck::symbolic
