// torch_sparse's products of a sparse and a dense matrix. Source: csrc/cpu/spmm_cpu.cpp of pytorch_sparse.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/segments.h"

namespace compatcheck::handlers {
namespace {

// The rows of `mat` at the elements' columns, times the elements: what each row of the sparse matrix reduces.
struct Product {
  Value terms;
  Shape shape;
  std::int64_t axis;
};

Product product_of_elements(Emission& e) {
  const std::int64_t rank = e.rank("mat"), axis = rank - 2;
  Product made{e.node("Gather", {e.tensor("mat"), e.tensor("col")}, {{"axis", axis}}), e.shape("mat"), axis};
  made.shape[static_cast<std::size_t>(axis)] = e.shape("col").front();
  if (e.given("value")) made.terms = e.node("Mul", {made.terms, e.build.unsqueeze(e.tensor("value", e.dtype("mat")), {1})});
  return made;
}

Segments row_segments(Emission& e, const Product& product) {
  return segments_between(e, product.terms, product.shape, product.axis, e.tensor("rowptr"), e.shape("rowptr").front());
}

Value row_sizes(Emission& e, const Product& product, DType dtype) {
  return e.cast(sizes_between(e, e.tensor("rowptr"), product.axis, e.rank("mat")), dtype);
}

Value row_sums(Emission& e, const Product& product) {
  return inner_segments(e, segment_sums(e, row_segments(e, product)), product.axis);
}

void give_row_sums(Emission& e) { e.give(row_sums(e, product_of_elements(e))); }

void give_row_means(Emission& e) {
  const Product product = product_of_elements(e);
  const Value sums = row_sums(e, product);
  e.give(divide(e, sums, maximum(e, row_sizes(e, product, sums.dtype), e.scalar(sums.dtype, 1))));
}

void give_row_extremes(Emission& e, Reduction reduction) {
  const Product product = product_of_elements(e);
  const SegmentExtremes made = segment_extremes(e, row_segments(e, product), reduction, e.output_used(1));
  if (e.output_used(0)) {
    const Value any = greater(e, row_sizes(e, product, DType::i64), e.scalar(DType::i64, 0));
    e.give(0, where(e, any, inner_segments(e, made.values, product.axis), e.scalar(made.values.dtype, 0)));
  }
  if (e.output_used(1)) e.give(1, inner_segments(e, made.places, product.axis));
}

void give_row_greatest(Emission& e) { give_row_extremes(e, Reduction::greatest); }
void give_row_least(Emission& e) { give_row_extremes(e, Reduction::least); }

}  // namespace

void register_torch_sparse(Registry& registry) {
  registry.handler("torch_sparse::spmm_sum", give_row_sums, {"reduced"});
  registry.handler("torch_sparse::spmm_mean", give_row_means, {"reduced"});
  registry.handler("torch_sparse::spmm_max", give_row_greatest, {"reduced"});
  registry.handler("torch_sparse::spmm_min", give_row_least, {"reduced"});
}

}  // namespace compatcheck::handlers
