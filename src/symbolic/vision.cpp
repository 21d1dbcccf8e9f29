// Sampling at a grid: facts and conditions.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// Pictures or volumes, and places in as many dimensions.
void demand_places(const TensorFact& input, const TensorFact& grid) {
  Demands demands;
  for (const auto& [shape, name] : {std::pair(&input.shape, "input"), std::pair(&grid.shape, "grid")})
    if (*shape && (*shape)->size() != 4 && (*shape)->size() != 5)
      demands.broken("the rank of " + std::string(name) + " must be 4 or 5, but is " + std::to_string((*shape)->size()));
  demands.hold();
  if (input.shape && grid.shape && input.shape->size() != grid.shape->size())
    demands.broken("the ranks of input and grid must be the same");
  if (grid.shape) demands.equal(grid.shape->back(), static_cast<std::int64_t>(grid.shape->size()) - 2, "the last size of grid");
  if (input.shape && grid.shape) demands.equal(grid.shape->front(), input.shape->front(), "the batch of grid");
  demands.hold();
}

// Batch and channels of the input, places of the grid.
Facts grid_sampler(const Call& call) {
  const TensorFact &input = tensor_of(call, "input"), &grid = tensor_of(call, "grid");
  demand_places(input, grid);
  if (!grid.shape || grid.shape->size() < 3) return {tensor_fact(input.dtype, std::nullopt)};
  Shape shape{agreed_dim(size_at(input, 0), size_at(grid, 0)), size_at(input, 1)};
  shape.insert(shape.end(), grid.shape->begin() + 1, grid.shape->end() - 1);
  return {tensor_fact(input.dtype, std::move(shape))};
}

// With corners aligned all places of an axis of one cell are that cell, but those that are no finite number.
Verdict axis_may_be_single(const Call& call) {
  const auto& shape = tensor_of(call, "input").shape;
  const bool may = !shape || shape->size() < 3 ||
                   std::any_of(shape->begin() + 2, shape->end(), [](const Dim& size) { return size.number().value_or(1) == 1; });
  return {.truth = may ? Truth::yes : Truth::no, .message = may ? "" : "no axis has one cell"};
}

}  // namespace

void register_vision(Registry& registry) {
  for (const char* op : {"aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d", "aten::cudnn_grid_sampler"})
    registry.facts(op, grid_sampler);
  registry.condition("axis_may_be_single", axis_may_be_single);
}

}  // namespace compatcheck::symbolic
