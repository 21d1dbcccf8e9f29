// Batches of matrices, the last two dimensions, that are worked on column by column in a loop: decompositions and solvers.
#pragma once

#include <string_view>

#include "handlers/elementary.h"

namespace compatcheck::handlers {

struct Matrices {
  Value value;
  std::int64_t rank = 2;
  Dim row_count, column_count;
  Value rows, columns;  // the places, [rows, 1] and [1, columns], in i64

  std::int64_t row_axis() const { return rank - 2; }
  std::int64_t column_axis() const { return rank - 1; }
  Matrices with(const Value& other) const;  // matrices of the same sizes with another value
  const Dim& fewer() const;                 // the fewer of rows and columns; Refusal if that isn't known
  bool is_wide() const;                     // no more rows than columns; Refusal as above
};

// A tensor argument in `dtype`; with `rank`, dimensions of 1 come in front.
Matrices matrices(Emission& e, std::string_view tensor, DType dtype, std::int64_t rank = 0);
Matrices matrices(Emission& e, const Value& value, std::int64_t rows, std::int64_t columns);  // one matrix
Matrices transposed(Emission& e, const Matrices& x);
DType wider(DType dtype);  // f64 for f32: the dtype of a whole elimination

// ---- One row or column, [.., 1, n] or [.., m, 1]; its position is an i64 vector of one, or marked in a mask of rows
Value place_of_iteration(Emission& e, const Value& iteration);  // position of the loop's current row or column
Value row(Emission& e, const Matrices& x, const Value& place);
Value column(Emission& e, const Matrices& x, const Value& place);
Value row_where(Emission& e, const Matrices& x, const Value& mask);
Value flipped(Emission& e, const Matrices& x, const Value& vectors);  // columns to rows and back

// ---- Made of them
Value lower_part(Emission& e, const Matrices& x);  // diagonal included; 0 above
Value upper_part(Emission& e, const Matrices& x);
// Identity matrices with as many rows and columns as `like`, and its batch dimensions.
Value identity(Emission& e, const Matrices& like);
enum class Keep { none, rows, columns };
Value zeros(Emission& e, const Matrices& like, Keep keep);  // batch and kept dimensions have the sizes of `like`, others 1
Value head(Emission& e, const Value& value, std::int64_t axis, const Dim& size, const Dim& most);  // the first `most`
Value steps(Emission& e, const Matrices& x, const Dim& size);                                      // an i64 without dimensions

// ---- By elimination
struct Solution {
  Value value, info;  // info: [.., 1, 1] in i64, the number of the first step whose pivot is 0, or 0
};
// X of A · X = B; `b` in the batch of `a` or one that broadcasts with it.
Solution eliminate(Emission& e, const Matrices& a, const Matrices& b);
Solution inverse_of(Emission& e, const Matrices& a);

}  // namespace compatcheck::handlers
