#include "handlers/matrices.h"

#include "handlers/compute.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {

Matrices Matrices::with(const Value& other) const {
  Matrices made = *this;
  made.value = other;
  return made;
}

bool Matrices::is_wide() const {
  if (provably_equal(row_count, column_count)) return true;
  if (!row_count.is_number() || !column_count.is_number())
    throw Refusal{"a decomposition needs to know whether matrices have more rows or more columns", "state the sizes by --input"};
  return *row_count.number() <= *column_count.number();
}

const Dim& Matrices::fewer() const { return is_wide() ? row_count : column_count; }

DType wider(DType dtype) { return dtype == DType::f32 ? DType::f64 : dtype; }

Matrices matrices(Emission& e, std::string_view tensor, DType dtype, std::int64_t rank) {
  const std::int64_t own = e.rank(tensor);
  if (own < 2) throw Refusal{"a matrix has two dimensions"};
  const Shape& shape = e.shape(tensor);
  Matrices made;
  made.rank = std::max(rank, own);
  made.row_count = shape.end()[-2];
  made.column_count = shape.back();
  made.rows = e.build.reshape(places_of(e, e.size_of(tensor, own - 2)), {-1, 1});
  made.columns = e.build.reshape(places_of(e, e.size_of(tensor, own - 1)), {1, -1});
  made.value = e.tensor(tensor, dtype);
  if (made.rank > own) made.value = e.build.unsqueeze(made.value, all_axes(made.rank - own));
  return made;
}

Matrices matrices(Emission& e, const Value& value, std::int64_t rows, std::int64_t columns) {
  Matrices made;
  made.value = e.build.reshape(value, {rows, columns});
  made.row_count = Dim(rows);
  made.column_count = Dim(columns);
  made.rows = e.build.reshape(places_of(e, e.integers({rows})), {-1, 1});
  made.columns = e.build.reshape(places_of(e, e.integers({columns})), {1, -1});
  return made;
}

Matrices transposed(Emission& e, const Matrices& x) {
  Matrices made = x.with(flipped(e, x, x.value));
  std::swap(made.row_count, made.column_count);
  made.rows = e.build.reshape(x.columns, {-1, 1});
  made.columns = e.build.reshape(x.rows, {1, -1});
  return made;
}

Value flipped(Emission& e, const Matrices& x, const Value& vectors) {
  Ints permutation = all_axes(x.rank);
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  return e.build.transpose(vectors, permutation);
}

Value place_of_iteration(Emission& e, const Value& iteration) { return e.build.unsqueeze(iteration, {0}); }

Value row(Emission& e, const Matrices& x, const Value& place) { return e.build.gather(x.value, place, x.row_axis()); }
Value column(Emission& e, const Matrices& x, const Value& place) { return e.build.gather(x.value, place, x.column_axis()); }

Value row_where(Emission& e, const Matrices& x, const Value& mask) {
  return e.node("ReduceSum", {where(e, mask, x.value, e.scalar(x.value.dtype, 0))},
                {{"axes", Ints{x.row_axis()}}, {"keepdims", 1}});
}

Value lower_part(Emission& e, const Matrices& x) {
  return where(e, less(e, x.rows, x.columns), e.scalar(x.value.dtype, 0), x.value);
}

Value upper_part(Emission& e, const Matrices& x) {
  return where(e, greater(e, x.rows, x.columns), e.scalar(x.value.dtype, 0), x.value);
}

Value zeros(Emission& e, const Matrices& like, Keep keep) {
  const Value none = e.cast(less(e, like.value, like.value), like.value.dtype);
  Ints axes{like.row_axis(), like.column_axis()};
  if (keep != Keep::none) axes = {keep == Keep::rows ? like.column_axis() : like.row_axis()};
  return e.node("ReduceSum", {none}, {{"axes", axes}, {"keepdims", 1}});
}

Value identity(Emission& e, const Matrices& like) {
  const Value ones = e.cast(equal(e, like.rows, e.build.reshape(like.rows, {1, -1})), like.value.dtype);
  return add(e, ones, zeros(e, like, Keep::none));
}

Value head(Emission& e, const Value& value, std::int64_t axis, const Dim& size, const Dim& most) {
  if (provably_equal(size, most)) return value;
  if (!most.is_number()) throw Refusal{"a part of a matrix needs a known size"};
  return part(e, value, axis, 0, *most.number());
}

Value steps(Emission& e, const Matrices& x, const Dim& size) {
  if (size.is_number()) return e.build.integer(*size.number());
  return e.build.squeeze(size_at(e, x.value, provably_equal(size, x.row_count) ? x.row_axis() : x.column_axis()), {0});
}

}  // namespace compatcheck::handlers
