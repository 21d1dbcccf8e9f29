// The lower and upper triangles of matrices.
#include <algorithm>

#include "handlers/families.h"
#include "handlers/padding.h"

namespace compatcheck::handlers {
namespace {

// The mask column − row ≤ diagonal, for the upper triangle ≥, of matrices of `rows` × `columns`.
Value triangle(Emission& e, const Value& rows, const Value& columns, const Value& diagonal, bool upper) {
  const auto row_count = e.build.ints_of(rows), column_count = e.build.ints_of(columns), offset = e.build.ints_of(diagonal);
  if (row_count && column_count && offset && row_count->front() * column_count->front() <= 1 << 16) {
    Ints inside;
    for (std::int64_t row = 0; row < row_count->front(); ++row)
      for (std::int64_t column = 0; column < column_count->front(); ++column)
        inside.push_back(upper ? column - row >= offset->front() : column - row <= offset->front());
    return e.build.constant(onnx::make_tensor(DType::boolean, {row_count->front(), column_count->front()}, inside));
  }
  const Value across = e.node("Sub", {e.build.unsqueeze(places_of(e, columns), {0}), e.build.unsqueeze(places_of(e, rows), {1})});
  return e.node("Not", {e.node(upper ? "Less" : "Greater", {across, diagonal})});
}

// Gathers from the flattened matrices with a zero behind them, for opsets at which nothing selects by condition.
Value picked(Emission& e, const Value& self, std::int64_t diagonal, bool upper) {
  const std::int64_t rank = e.rank("self"), rows = e.known_size("self", rank - 2), columns = e.known_size("self", rank - 1);
  Ints places;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      places.push_back((upper ? column - row >= diagonal : column - row <= diagonal) ? row * columns + column : rows * columns);
  Shape shape(e.shape("self").begin(), e.shape("self").end() - 2);
  Values flat(shape.size(), e.integers({0}));
  shape.emplace_back(rows * columns);
  flat.push_back(e.integers({rows * columns}));
  Ints before(shape.size(), 0), after = before;
  after.back() = 1;
  const Value padded_flat = padded(e, reshape_parts(e, self, flat), &shape, before, after, e.scalar(self.dtype, 0));
  return e.build.gather(padded_flat, e.build.reshape(e.integers(places), {rows, columns}), rank - 2);
}

void give_triangle(Emission& e, bool upper) {
  const Value self = e.tensor("self");
  if (e.variant("operator")) return e.give(e.node("Trilu", {self, int_scalar(e, "diagonal")}, {{"upper", upper ? 1 : 0}}));
  const std::int64_t rank = e.rank("self");
  if (rank < 2) throw Refusal{"a triangle is one of matrices, and there are fewer than two dimensions"};
  if (e.variant("gathered")) return e.give(picked(e, self, e.integer("diagonal"), upper));
  const Value inside = triangle(e, e.size_of("self", rank - 2), e.size_of("self", rank - 1), int_scalar(e, "diagonal"), upper);
  e.give(e.node("Where", {inside, self, e.scalar(self.dtype, 0)}));
}

void tril(Emission& e) { give_triangle(e, false); }
void triu(Emission& e) { give_triangle(e, true); }

// Rows and columns of the elements inside.
void give_indices(Emission& e, bool upper) {
  const auto rows = e.call.integer("row"), columns = e.call.integer("col"), offset = e.call.integer("offset");
  if (!rows || !columns || !offset) {
    const Value inside = triangle(e, int_value(e, "row"), int_value(e, "col"), int_scalar(e, "offset"), upper);
    return e.give(e.node("NonZero", {inside}));
  }
  std::int64_t cells = 0;
  if (__builtin_mul_overflow(std::max<std::int64_t>(*rows, 0), std::max<std::int64_t>(*columns, 0), &cells) ||
      cells > static_cast<std::int64_t>(Ints::most))
    throw Refusal{"a triangle of " + std::to_string(*rows) + " by " + std::to_string(*columns) +
                  " is more than a model should hold as numbers"};
  Ints places[2];
  for (std::int64_t row = 0; cells > 0 && row < *rows; ++row)  // no column: rows may be as many as an int counts
    for (std::int64_t column = 0; column < *columns; ++column)
      if (upper ? column - row >= *offset : column - row <= *offset) places[0].push_back(row), places[1].push_back(column);
  const auto count = static_cast<std::int64_t>(places[0].size());
  places[0].insert(places[0].end(), places[1].begin(), places[1].end());
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {2, count}, places[0])));
}

void tril_indices(Emission& e) { give_indices(e, e.call.op() == "aten::triu_indices"); }

}  // namespace

void register_triangle(Registry& registry) {
  registry.handler("aten::tril", tril, {"gathered", "operator"});
  registry.handler("aten::triu", triu, {"gathered", "operator"});
  registry.handler("aten::tril_indices", tril_indices);
}

}  // namespace compatcheck::handlers
