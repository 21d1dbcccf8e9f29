// Diagonals: read, and put into a matrix.
#include <algorithm>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/padding.h"

namespace compatcheck::handlers {
namespace {

Values sizes_before(Emission& e, const Value& value, const Shape& shape, std::size_t count) {
  Values sizes;
  for (std::size_t i = 0; i < count; ++i)
    sizes.push_back(shape[i].is_number() ? e.integers({*shape[i].number()}) : size_at(e, value, static_cast<std::int64_t>(i)));
  return sizes;
}

// ---- The diagonal of two dimensions, which go to the end

// Returns the diagonal of the last two dimensions: by position if the sizes are known; otherwise every (columns + 1)-th
// element of a part that contains the diagonal's square.
Value last_diagonal(Emission& e, Value value, const Shape& shape, std::int64_t offset) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto rows = shape[shape.size() - 2].number(), columns = shape.back().number();
  Values flat(shape.size() - 2, e.integers({0}));
  if (rows && columns) {
    Ints positions;
    for (std::int64_t row = std::max<std::int64_t>(0, -offset); row < *rows && row + offset < *columns; ++row)
      positions.push_back(row * *columns + row + offset);
    if (*rows == 0 || *columns == 0) {  // a 0 in Reshape copies the input's dimension
      Ints swapped = all_axes(rank);
      std::swap(swapped[static_cast<std::size_t>(rank) - 2], swapped.back());
      flat.push_back(e.integers({0}));
      return reshape_parts(e, *rows == 0 ? value : e.build.transpose(value, swapped), flat);
    }
    flat.push_back(e.integers({*rows * *columns}));
    return e.build.gather(reshape_parts(e, value, flat), e.integers(positions), rank - 2);
  }
  if (offset > 0) value = e.build.slice(value, {offset}, {to_end}, {rank - 1});
  if (offset < 0) value = e.build.slice(value, {-offset}, {to_end}, {rank - 2});
  const Value width = size_at(e, value, rank - 1);
  value = sliced(e, value, rank - 2, e.integers({0}), width);
  // Reshape gets computed sizes, as one may be 0.
  Values sizes = sizes_before(e, value, shape, static_cast<std::size_t>(rank) - 2);
  sizes.push_back(product(e, size_at(e, value, rank - 2), width));
  const Value all = reshape_to(e, value, nullptr, nullptr, [&] { return joined(e, sizes); });
  return sliced(e, all, rank - 2, e.integers({0}), e.integers({to_end}), sum(e, width, e.integers({1})));
}

void diagonal(Emission& e) {
  const std::string_view matrix = e.call.has("A") ? "A" : "self";
  const std::int64_t rank = e.rank(matrix), a = e.axis("dim1", matrix), b = e.axis("dim2", matrix);
  if (rank < 2 || a == b) throw Refusal{"a diagonal is one of two different dimensions"};
  Ints order;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) order.push_back(i);
  order.insert(order.end(), {a, b});
  Shape shape;
  for (const std::int64_t axis : order) shape.push_back(e.shape(matrix)[static_cast<std::size_t>(axis)]);
  e.give(last_diagonal(e, e.build.transpose(e.tensor(matrix), order), shape, e.integer("offset")));
}

// ---- A diagonal put into a matrix

// A zero row's width behind each element moves it to the next diagonal place; n·n of the n·(n+1) elements are the matrix.
Value embedded(Emission& e, const Value& value, const Shape& shape, std::int64_t offset) {
  const std::size_t rank = shape.size();
  const auto size = shape.back().number();
  if (!size && !e.at_least(11)) e.want("self", "the size of the last dimension");
  const Value n = size ? e.integers({*size}) : size_at(e, value, static_cast<std::int64_t>(rank) - 1);
  const Value zero = e.scalar(value.dtype, 0), column = e.build.unsqueeze(value, {static_cast<std::int64_t>(rank)});
  Shape sizes = shape;
  sizes.emplace_back(1);
  Ints none(rank + 1, 0), after = none;
  if (size == 0) {  // nothing to move; a reshape wouldn't know what 0 elements become
    after[rank - 1] = std::abs(offset);
    after[rank] = std::abs(offset) - 1;
    return padded(e, column, &sizes, none, after, zero);
  }
  Value spread;
  if (size) {
    after.back() = *size;
    spread = padded(e, column, &sizes, none, after, zero);
  } else {
    Values pads(2 * rank + 1, e.integers({0}));
    pads.push_back(n);
    spread = e.node("Pad", {column}, {{"pads", joined(e, pads)}, {"value", zero}});
  }
  Values flat = size ? Values(rank - 1, e.integers({0})) : sizes_before(e, value, shape, rank - 1), square = flat;
  flat.push_back(product(e, n, sum(e, n, e.integers({1}))));
  square.insert(square.end(), {n, n});
  const auto reshaped = [&](const Value& from, const Values& target) {
    return size ? reshape_parts(e, from, target) : reshape_to(e, from, nullptr, nullptr, [&] { return joined(e, target); });
  };
  const Value all = sliced(e, reshaped(spread, flat), static_cast<std::int64_t>(rank) - 1, e.integers({0}), product(e, n, n));
  const Value matrix = reshaped(all, square);
  sizes.back() = shape.back();
  Ints before = none;
  after = none;
  (offset > 0 ? before[rank] : after[rank]) = std::abs(offset);
  (offset > 0 ? after[rank - 1] : before[rank - 1]) = std::abs(offset);
  return padded(e, matrix, &sizes, before, after, zero);
}

void diag_embed(Emission& e) {
  const std::int64_t rank = e.rank("self") + 1, a = e.wrap(e.integer("dim1"), rank), b = e.wrap(e.integer("dim2"), rank);
  const std::int64_t offset = e.integer("offset");
  const Value matrices = embedded(e, e.tensor("self"), e.shape("self"), a < b ? offset : -offset);
  Ints order;  // for each dimension of the result, its axis in `matrices`
  for (std::int64_t i = 0, next = 0; i < rank; ++i)
    order.push_back(i == std::min(a, b) ? rank - 2 : i == std::max(a, b) ? rank - 1 : next++);
  e.give(e.build.transpose(matrices, order));
}

void diag(Emission& e) {
  const std::int64_t offset = e.integer("diagonal");
  if (e.rank("self") == 1) return e.give(embedded(e, e.tensor("self"), e.shape("self"), offset));
  if (e.rank("self") != 2) throw Refusal{"diag takes a vector or a matrix"};
  e.give(last_diagonal(e, e.tensor("self"), e.shape("self"), offset));
}

void diagflat(Emission& e) {
  const Shape flat{symbolic::product(e.shape("self"))};
  e.give(
      embedded(e, e.rank("self") == 1 ? e.tensor("self") : e.build.reshape(e.tensor("self"), {-1}), flat, e.integer("offset")));
}

}  // namespace

void register_diagonal(Registry& registry) {
  for (const char* op : {"aten::diagonal", "aten::linalg_diagonal"}) registry.handler(op, diagonal);
  registry.handler("aten::diag_embed", diag_embed);
  registry.handler("aten::diag", diag);
  registry.handler("aten::diagflat", diagflat);
}

}  // namespace compatcheck::handlers
