// torch_cluster's operators. Source: csrc/cpu of pytorch_cluster.
#include "handlers/compute.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// The number of the cell of a grid in which each point lies: whole steps along each coordinate, the first one fastest.
void number_cells(Emission& e) {
  const std::int64_t coordinates = e.known_size("size", 0);
  const DType dtype = e.dtype("pos");
  const Value points = e.rank("pos") == 2 ? e.tensor("pos") : e.build.reshape(e.tensor("pos"), {0, coordinates});
  const auto corner = [&](std::string_view argument, Extreme which) {
    return e.given(argument) ? e.build.reshape(e.tensor(argument, dtype), {coordinates}) : extreme(e, which, points, {0}, false);
  };
  const Value start = corner("start", Extreme::least), end = corner("end", Extreme::greatest), size = e.tensor("size", dtype);
  const auto steps = [&](const Value& distance) { return e.cast(divide(e, distance, size), DType::i64); };
  const Value cells = steps(subtract(e, points, start));
  const Value counts = add(e, steps(subtract(e, end, start)), e.scalar(DType::i64, 1));
  Value made, stride;
  for (std::int64_t i = 0; i < Emission::few(coordinates); ++i) {
    const Value cell = e.build.squeeze(part(e, cells, 1, i, i + 1), {1});
    made = i == 0 ? cell : add(e, made, multiply(e, cell, stride));
    const Value count = part(e, counts, 0, i, i + 1);
    stride = i == 0 ? count : multiply(e, stride, count);
  }
  e.give(made);
}

// For each element, the number of the group between pointers in which it lies.
Value group_numbers(Emission& e, std::string_view pointers, std::string_view points) {
  const Value places = e.build.unsqueeze(counting(e, e.size_of(points, 0)), {1});
  const Value passed = logical_not(e, greater(e, e.build.unsqueeze(e.tensor(pointers), {0}), places));
  return reduce(e, "ReduceSum", e.cast(passed, DType::i64), {1}, false);
}

// Pairs (row of y, row of x): the `k` nearest rows of x for each of y, the nearest first, within the same group.
void find_neighbors(Emission& e) {
  const Value x = e.build.unsqueeze(e.tensor("x"), {0}), y = e.build.unsqueeze(e.tensor("y"), {1});
  const Value apart = subtract(e, y, x);
  Value distances = reduce(e, "ReduceSum", multiply(e, apart, apart), {2}, false), same;
  if (e.given("ptr_x")) {
    same =
        equal(e, e.build.unsqueeze(group_numbers(e, "ptr_y", "y"), {1}), e.build.unsqueeze(group_numbers(e, "ptr_x", "x"), {0}));
    distances = where(e, same, distances, e.scalar(distances.dtype, infinity));
  }
  const Value count = minimum(e, int_value(e, "k"), e.size_of("x", 0));
  const Value nearest = e.nodes("TopK", {distances, count}, 2,
                                {{"axis", std::int64_t{1}}, {"largest", std::int64_t{0}}, {"sorted", std::int64_t{1}}})[1];
  const Value rows = e.node("Expand", {e.build.unsqueeze(counting(e, e.size_of("y", 0)), {1}), sizes_of(e, nearest)});
  Value pairs = e.build.concat({e.build.reshape(rows, {1, -1}), e.build.reshape(nearest, {1, -1})}, 0);
  if (same) {
    const Value found = e.node("GatherElements", {same, nearest}, {{"axis", std::int64_t{1}}});
    pairs = e.node("Compress", {pairs, e.build.reshape(found, {-1})}, {{"axis", std::int64_t{1}}});
  }
  e.give(pairs);
}

}  // namespace

void register_torch_cluster(Registry& registry) {
  registry.handler("torch_cluster::grid", number_cells);
  registry.handler("torch_cluster::knn", find_neighbors);
}

}  // namespace compatcheck::handlers
