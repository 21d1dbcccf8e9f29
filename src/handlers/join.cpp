// Joining tensors: along a dimension, along a new one, on a diagonal, and broadcast against each other.
#include <algorithm>
#include <limits>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/padding.h"

namespace compatcheck::handlers {
namespace {

struct Part {
  Value value;
  const Shape* shape = nullptr;  // null: the rank isn't known
};

std::vector<Part> parts_of(Emission& e) {
  const auto facts = e.call.list("tensors");
  const Values values = e.tensors("tensors");
  std::vector<Part> parts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* tensor = facts ? (*facts)[i]->tensor() : nullptr;
    parts.push_back({values[i], tensor && tensor->shape ? &*tensor->shape : nullptr});
  }
  return parts;
}

std::int64_t rank_of(Emission& e, const Part& part) {
  if (!part.shape) e.want("tensors", "the rank");
  return static_cast<std::int64_t>(part.shape->size());
}

Values cast_to_output(Emission& e, const std::vector<Part>& parts) {
  Values values;
  for (const Part& part : parts) values.push_back(e.cast(part.value, e.output_dtype()));
  return values;
}

// A list whose length only the running model knows.
const Value* given_sequence(Emission& e, std::string_view argument) {
  const auto* sequence = std::get_if<Sequence>(&e.operand(argument).value);
  return sequence ? &sequence->value : nullptr;
}

// A vector without elements becomes as many rows of `lead`, none.
Value of_rank_of(Emission& e, const Value& value, const Value& lead, std::int64_t axis) {
  if (!e.at_least(11))
    throw Refusal{
        "a tensor that may be an empty vector, whatever the others' rank, needs If with two shapes, which came with opset 11",
        "use opset 11"};
  const Value vector = e.node("Equal", {e.node("Size", {e.node("Shape", {value})}), e.build.integer(1)});
  const auto rows = e.build.begin_body();
  e.build.end_body({e.build.slice(lead, {0}, {0}, {axis})});
  const auto kept = e.build.begin_body();
  e.build.end_body({e.build.again(value)});
  return e.build.control("If", {vector}, {{"then_branch", rows}, {"else_branch", kept}}, {value.dtype}, {false}).front();
}

// Vectors without elements join anything: beside tensors of another rank, no others can stand.
void cat(Emission& e) {
  if (const Value* sequence = given_sequence(e, "tensors"))
    return e.give(e.node("ConcatFromSequence", {*sequence}, {{"axis", e.integer("dim")}}, sequence->dtype));
  std::vector<Part> parts = parts_of(e);
  const Shape* result = known_output_shape(e);
  if (result && result->size() > 1) std::erase_if(parts, [](const Part& part) { return part.shape && part.shape->size() == 1; });
  const std::int64_t dim = e.integer("dim"), axis = dim < 0 ? e.wrap(dim, e.output_rank()) : dim;
  Values values = cast_to_output(e, parts);
  const auto has_rank = [](const Part& part) { return part.shape != nullptr; };
  const auto lead = std::ranges::find_if(parts, has_rank);
  if (parts.size() > 1 && !std::ranges::all_of(parts, has_rank)) {
    if (!result) e.want("tensors", "the rank");
    for (std::size_t i = 0; i < parts.size() && result->size() > 1; ++i)
      if (!parts[i].shape) values[i] = of_rank_of(e, values[i], values[static_cast<std::size_t>(lead - parts.begin())], axis);
  }
  e.give(e.build.concat(values, axis));
}

void stack(Emission& e) {
  const std::int64_t dim = e.integer("dim");
  if (const Value* sequence = given_sequence(e, "tensors"))
    return e.give(e.node("ConcatFromSequence", {*sequence}, {{"axis", dim}, {"new_axis", 1}}, sequence->dtype));
  const std::int64_t axis = dim < 0 ? e.wrap(dim, e.output_rank()) : dim;
  Values values = cast_to_output(e, parts_of(e));
  for (Value& value : values) value = e.build.unsqueeze(value, {axis});
  e.give(e.build.concat(values, axis));
}

// hstack and the like: each gets dimensions of 1 by its rank, then they are joined. Vectors without elements join anything, as in
// cat.
using Widen = Ints (*)(std::int64_t rank);  // the axes to add

void give_joined(Emission& e, Widen widen, std::optional<std::int64_t> axis) {
  const std::vector<Part> parts = parts_of(e);
  if (parts.empty()) throw Refusal{"PyTorch joins no empty list"};
  const Values given = cast_to_output(e, parts);
  const auto widened_rank = [&](const Part& part) {
    const std::int64_t rank = rank_of(e, part);
    return rank + static_cast<std::int64_t>(widen(rank).size());
  };
  Values values;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (widened_rank(parts[i]) > 1 || e.output_rank() == 1)
      values.push_back(e.build.unsqueeze(given[i], widen(rank_of(e, parts[i]))));
  e.give(e.build.concat(values, axis ? *axis : widened_rank(parts.front()) == 1 ? 0 : 1));
}

Ints to_vector(std::int64_t rank) { return rank == 0 ? Ints{0} : Ints{}; }
Ints to_row(std::int64_t rank) { return rank == 0 ? Ints{0, 1} : rank == 1 ? Ints{0} : Ints{}; }
Ints to_layer(std::int64_t rank) { return rank == 0 ? Ints{0, 1, 2} : rank == 1 ? Ints{0, 2} : rank == 2 ? Ints{2} : Ints{}; }
Ints to_column(std::int64_t rank) { return rank == 0 ? Ints{0, 1} : rank == 1 ? Ints{1} : Ints{}; }

void hstack(Emission& e) { give_joined(e, to_vector, std::nullopt); }
void vstack(Emission& e) { give_joined(e, to_row, 0); }
void dstack(Emission& e) { give_joined(e, to_layer, 2); }
void column_stack(Emission& e) { give_joined(e, to_column, 1); }

// ---- Padded to one size, then joined

Ints sizes_known(Emission& e, const Part& part) {
  if (!part.shape) e.want("tensors", "the rank");
  const auto numbers = numbers_of(*part.shape);
  if (!numbers) e.want("tensors", "a size");
  return *numbers;
}

// Blocks whose sizes are known only at run time: each row of blocks is joined from one matrix and zeros.
Value open_block_diag(Emission& e, const std::vector<Part>& parts, const Values& values) {
  Values matrices, widths, rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    matrices.push_back(e.build.unsqueeze(values[i], to_row(rank_of(e, parts[i]))));
    widths.push_back(size_at(e, matrices[i], 1));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto zeros = [&](std::size_t from, std::size_t to) {
      Value width = e.integers({0});
      for (std::size_t k = from; k < to; ++k) width = sum(e, width, widths[k]);
      return filled(e, joined(e, {size_at(e, matrices[i], 0), width}), matrices[i].dtype, 0);
    };
    Values row{matrices[i]};
    if (i > 0) row.insert(row.begin(), zeros(0, i));
    if (i + 1 < parts.size()) row.push_back(zeros(i + 1, parts.size()));
    rows.push_back(e.build.concat(row, 1));
  }
  return e.build.concat(rows, 0);
}

void block_diag(Emission& e) {
  const std::vector<Part> parts = parts_of(e);
  Values values = cast_to_output(e, parts);
  const auto is_known = [](const Part& part) { return part.shape && numbers_of(*part.shape); };
  if (e.at_least(9) && !std::ranges::all_of(parts, is_known)) return e.give(open_block_diag(e, parts, values));
  std::vector<Ints> sizes;
  std::int64_t width = 0, left = 0;
  for (const Part& part : parts) {
    Ints size = sizes_known(e, part);
    while (size.size() < 2) size.insert(size.begin(), 1);
    sizes.push_back(size);
    width += size[1];
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape shape(sizes[i].begin(), sizes[i].end());
    const Value matrix = e.build.unsqueeze(values[i], to_row(rank_of(e, parts[i])));
    values[i] = padded(e, matrix, &shape, {0, left}, {0, width - left - sizes[i][1]}, e.scalar(matrix.dtype, 0));
    left += sizes[i][1];
  }
  e.give(e.build.concat(values, 0));
}

// Each is padded to a multiple of the chunks in dimension `dim`, and all behind it become one.
void chunk_cat(Emission& e) {
  const std::int64_t dim = e.integer("dim"), chunks = e.integer("num_chunks");
  if (chunks < 1) throw Refusal{"num_chunks must be at least 1, but is " + std::to_string(chunks)};
  const std::vector<Part> parts = parts_of(e);
  Values values = cast_to_output(e, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Ints sizes = sizes_known(e, parts[i]);
    if (sizes.empty()) throw Refusal{"PyTorch cuts no scalars into chunks"};
    const std::int64_t axis = e.wrap(dim, static_cast<std::int64_t>(sizes.size())), size = sizes[static_cast<std::size_t>(axis)];
    const std::int64_t rows = (size + chunks - 1) / chunks;
    Ints after(sizes.size(), 0);
    after[static_cast<std::size_t>(axis)] = rows * chunks - size;
    Ints shape(sizes.begin(), sizes.begin() + axis);
    shape.insert(shape.end(), {chunks, std::accumulate(sizes.begin() + axis + 1, sizes.end(), rows, std::multiplies<>())});
    const Value zero = e.scalar(values[i].dtype, 0);
    values[i] = e.build.reshape(padded(e, values[i], parts[i].shape, Ints(sizes.size(), 0), after, zero), shape);
  }
  e.give(e.build.concat(values, e.output_rank() - 1));
}

// Sequences whose sizes only the running model knows: each is joined with the padding that makes it as long as the longest.
Values padded_when_run(Emission& e, Values values, bool left) {
  Values lengths;
  for (const Value& value : values) lengths.push_back(size_at(e, value, 0));
  const Value longest = e.node("ReduceMax", {e.build.concat(lengths, 0)}, {{"axes", Ints{0}}, {"keepdims", 1}});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value others = e.build.slice(sizes_of(e, values[i]), {1}, {std::numeric_limits<std::int64_t>::max()}, {0});
    const Value missing = joined(e, {difference(e, longest, lengths[i]), others});
    const Value fill = filled(e, missing, e.number_value("padding_value", values[i].dtype));
    values[i] = e.build.concat(left ? Values{fill, values[i]} : Values{values[i], fill}, 0);
  }
  return values;
}

void pad_sequence(Emission& e) {
  const bool batch_first = e.boolean("batch_first"), left = e.call.has("padding_side") && e.string("padding_side") == "left";
  const auto facts = e.call.list("sequences");
  if (!facts) throw Refusal{"how many sequences are padded is known only when the model runs"};
  Values values = e.tensors("sequences");
  for (Value& value : values) value = e.cast(value, e.output_dtype());
  std::vector<Ints> sizes;
  std::int64_t longest = 0;
  for (const symbolic::Fact* fact : *facts) {
    const auto* tensor = fact->tensor();
    const auto numbers = tensor && tensor->shape ? numbers_of(*tensor->shape) : std::nullopt;
    if (!numbers) break;
    sizes.push_back(*numbers);
    longest = std::max(longest, numbers->at(0));
  }
  if (sizes.size() < values.size()) {
    if (!e.at_least(9)) e.want("sequences", "a size");
    values = padded_when_run(e, std::move(values), left);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      Ints before(sizes[i].size(), 0), after = before;
      (left ? before : after)[0] = longest - sizes[i][0];
      const Shape shape(sizes[i].begin(), sizes[i].end());
      const Value fill = e.number_value("padding_value", values[i].dtype);
      values[i] = padded(e, values[i], &shape, before, after, fill);
    }
  }
  for (Value& value : values) value = e.build.unsqueeze(value, {batch_first ? 0 : 1});
  e.give(e.build.concat(values, batch_first ? 0 : 1));
}

// ---- Broadcast

// The shape of them all together: each one's sizes stretched.
Value common_sizes(Emission& e, const Values& values) {
  Value all = e.cast(values.front(), DType::boolean);
  for (std::size_t i = 1; i < values.size(); ++i) all = e.node("Or", {all, e.cast(values[i], DType::boolean)});
  return e.node("Shape", {all});
}

void broadcast_tensors(Emission& e) {
  const std::vector<Part> parts = parts_of(e);
  Values values, given;
  for (const Part& part : parts) values.push_back(part.value);
  const auto* items = e.call.facts().of(e.call.node().output()).list();
  Value sizes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* tensor = items && items->items ? (*items->items)[i].tensor() : nullptr;
    given.push_back(expand_to(e, parts[i].value, parts[i].shape, tensor && tensor->shape ? &*tensor->shape : nullptr,
                              [&] { return sizes ? sizes : sizes = common_sizes(e, values); }));
  }
  e.give_list(0, given);
}

// The lengths of the vectors, each in its own dimension.
struct VectorGrid {
  Values vectors, sizes;
  Shape shape;
};

VectorGrid vector_grid(Emission& e, const std::vector<Part>& parts) {
  VectorGrid grid;
  for (const Part& part : parts) {
    const bool vector = rank_of(e, part) == 1;
    grid.vectors.push_back(vector ? part.value : e.build.reshape(part.value, {1}));
    grid.shape.push_back(vector ? part.shape->front() : Dim(1));
    grid.sizes.push_back(grid.shape.back().is_number() ? e.integers({*grid.shape.back().number()})
                                                       : sizes_of(e, grid.vectors.back()));
  }
  return grid;
}

// A vector in dimension `axis` of the grid.
Value across(Emission& e, const VectorGrid& grid, std::size_t vector, std::size_t axis, const Shape& shape, const Value& sizes) {
  Ints others;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != axis) others.push_back(static_cast<std::int64_t>(i));
  Shape from(shape.size(), Dim(1));
  from[axis] = shape[axis];
  return expand_to(e, e.build.unsqueeze(grid.vectors[vector], others), &from, &shape, [&] { return sizes; });
}

void meshgrid(Emission& e) {
  const std::vector<Part> parts = parts_of(e);
  VectorGrid grid = vector_grid(e, parts);
  const bool swapped = parts.size() > 1 && e.call.has("indexing") && e.string("indexing") == "xy";
  if (swapped) std::swap(grid.shape[0], grid.shape[1]), std::swap(grid.sizes[0], grid.sizes[1]);
  const Value sizes = joined(e, grid.sizes);
  Values made;
  for (std::size_t i = 0; i < parts.size(); ++i)
    made.push_back(across(e, grid, i, swapped && i < 2 ? 1 - i : i, grid.shape, sizes));
  e.give_list(0, made);
}

void cartesian_prod(Emission& e) {
  const std::vector<Part> parts = parts_of(e);
  if (parts.size() == 1) return e.give(parts.front().value);
  const VectorGrid grid = vector_grid(e, parts);
  const Value sizes = joined(e, grid.sizes);
  Values columns;
  for (std::size_t i = 0; i < parts.size(); ++i)
    columns.push_back(e.build.reshape(e.cast(across(e, grid, i, i, grid.shape, sizes), e.output_dtype()), {-1, 1}));
  e.give(e.build.concat(columns, 1));
}

}  // namespace

void register_join(Registry& registry) {
  registry.handler("aten::cat", cat);
  registry.handler("aten::stack", stack);
  registry.handler("aten::hstack", hstack);
  registry.handler("aten::vstack", vstack);
  registry.handler("aten::dstack", dstack);
  registry.handler("aten::column_stack", column_stack);
  registry.handler("aten::block_diag", block_diag);
  registry.handler("aten::_chunk_cat", chunk_cat);
  registry.handler("aten::pad_sequence", pad_sequence);
  registry.handler("aten::broadcast_tensors", broadcast_tensors);
  registry.handler("aten::meshgrid", meshgrid);
  registry.handler("aten::cartesian_prod", cartesian_prod);
}

}  // namespace compatcheck::handlers
