// torch_cluster's operators: facts.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

Facts grid(const Call& call) {
  const TensorFact &points = tensor_of(call, "pos"), &size = tensor_of(call, "size");
  demand_rank(call, "pos", 1, 64);
  if (points.shape && points.shape->size() == 2) demand_equal(size_at(size, 0), size_at(points, 1), "the number of sizes");
  return {tensor_fact(ir::DType::i64, Shape{size_at(points, 0)})};
}

// Pairs of rows of y and x.
Facts knn(const Call& call) {
  const TensorFact &x = tensor_of(call, "x"), &y = tensor_of(call, "y");
  demand_equal(size_at(y, 1), size_at(x, 1), "the number of coordinates of y");
  Dim count = Dim::unknown();
  const auto k = call.integer("k"), points = size_at(x, 0).number();
  if (call.is_none("ptr_x") && k && points) count = size_at(y, 0) * Dim(std::min(*k, *points));
  return {tensor_fact(ir::DType::i64, Shape{Dim(2), count})};
}

}  // namespace

void register_torch_cluster(Registry& registry) {
  registry.facts("torch_cluster::grid", grid);
  registry.facts("torch_cluster::knn", knn);
}

}  // namespace compatcheck::symbolic
