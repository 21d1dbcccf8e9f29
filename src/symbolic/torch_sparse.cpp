// torch_sparse's operators: facts.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// The dense matrix with the sparse one's rows; and, of extremes, the elements that they come from.
Facts spmm(const Call& call) {
  const TensorFact& dense = tensor_of(call, "mat");
  if (!call.is_none("value"))
    demand_equal(size_at(tensor_of(call, "value"), 0), size_at(tensor_of(call, "col"), 0), "the number of elements");
  std::optional<Shape> shape = dense.shape;
  if (shape && shape->size() >= 2) (*shape)[shape->size() - 2] = size_at(tensor_of(call, "rowptr"), 0) - Dim(1);
  Facts facts{tensor_fact(dense.dtype, shape)};
  if (call.node().outputs().size() > 1) facts.push_back(tensor_fact(ir::DType::i64, std::move(shape)));
  return facts;
}

}  // namespace

void register_torch_sparse(Registry& registry) {
  for (const char* op : {"torch_sparse::spmm_sum", "torch_sparse::spmm_mean", "torch_sparse::spmm_min", "torch_sparse::spmm_max"})
    registry.facts(op, spmm);
}

}  // namespace compatcheck::symbolic
