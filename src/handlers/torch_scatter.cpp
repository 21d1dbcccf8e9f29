// torch_scatter's operators. Source: csrc/cpu of pytorch_scatter.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/segments.h"

namespace compatcheck::handlers {
namespace {

// ---- Segments by an index

// The number of segments: stated, or one more than the greatest index.
Value segment_count(Emission& e, const Value& index) {
  if (e.given("dim_size")) return int_value(e, "dim_size");
  const Value all = e.build.concat({e.build.reshape(index, {-1}), e.integers({-1})}, 0);
  return sum(e, reduce(e, "ReduceMax", all, {0}, true), e.integers({1}));
}

// The index with the source's rank: `before` dimensions of size 1 in front, the others behind.
Segments indexed_segments(Emission& e, std::int64_t axis, std::int64_t before) {
  const Value index = e.tensor("index");
  const std::int64_t rank = e.rank("src");
  Segments segments{.source = e.tensor("src"),
                    .shape = e.shape("src"),
                    .index = index,
                    .index_shape = Shape(static_cast<std::size_t>(rank), Dim(1)),
                    .axis = axis,
                    .count = segment_count(e, index),
                    .size = e.call.is_none("dim_size") ? Dim::unknown() : e.call.dim("dim_size").value_or(Dim::unknown())};
  std::ranges::copy(e.shape("index"), segments.index_shape.begin() + before);
  Ints added;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i < before || i >= before + e.rank("index")) added.push_back(i);
  if (!added.empty()) segments.index = e.build.unsqueeze(index, added);
  return segments;
}

// scatter_*: along `dim`, and an index of one dimension counts along it.
Segments scattered_segments(Emission& e) {
  const std::int64_t axis = e.axis("dim", "src");
  return indexed_segments(e, axis, e.rank("index") == 1 ? axis : 0);
}

// segment_*_coo: along the index's last dimension. As its sizes broadcast, elements count, not indices.
Segments sorted_segments(Emission& e) {
  Segments segments = indexed_segments(e, e.rank("index") - 1, 0);
  const auto at = static_cast<std::size_t>(segments.axis);
  if (provably_equal(segments.shape[at], segments.index_shape[at])) return segments;
  const Writing w{.data = {}, .index = segments.index, .source = segments.source, .index_shape = segments.index_shape};
  segments.index = stretched_index(e, w, segments.shape);
  segments.index_shape = segments.shape;
  return segments;
}

Segments segments_by_index(Emission& e) { return e.call.has("dim") ? scattered_segments(e) : sorted_segments(e); }

void give_indexed_sums(Emission& e) { e.give(segment_sums(e, segments_by_index(e))); }
void give_indexed_products(Emission& e) { e.give(segment_products(e, segments_by_index(e))); }

void give_indexed_means(Emission& e) {
  const Segments segments = segments_by_index(e);
  const Value sums = segment_sums(e, segments), counts = segment_counts(e, segments);
  e.give(e.call.has("dim") ? divided(e, sums, counts) : divide(e, sums, counts));
}

// A group without an element beyond the bound counts as empty: its extreme is 0.
void give_indexed_extremes(Emission& e, Reduction reduction) {
  const SegmentExtremes made = segment_extremes(e, segments_by_index(e), reduction, e.output_used(1));
  if (e.output_used(0)) e.give(0, where(e, equal(e, made.values, made.bound), e.scalar(made.values.dtype, 0), made.values));
  if (e.output_used(1)) e.give(1, made.places);
}

void give_indexed_greatest(Emission& e) { give_indexed_extremes(e, Reduction::greatest); }
void give_indexed_least(Emission& e) { give_indexed_extremes(e, Reduction::least); }

void gather_by_index(Emission& e) {
  const Value source = e.tensor("src"), index = e.tensor("index");
  const std::int64_t rank = e.rank("src"), axis = e.rank("index") - 1;
  if (axis == 0) return e.give(e.node("Gather", {source, index}, {{"axis", axis}}));
  Shape wide = e.shape("src");
  Shape shape = e.shape("index");
  wide[static_cast<std::size_t>(axis)] = shape.back();
  Ints behind;
  for (std::int64_t i = axis + 1; i < rank; ++i) behind.push_back(i);
  shape.resize(wide.size(), Dim(1));
  const Value stretched = expand_to(e, behind.empty() ? index : e.build.unsqueeze(index, behind), &shape, &wide, [&] {
    return joined(e, {part(e, sizes_of(e, index), 0, 0, to_end), part(e, sizes_of(e, source), 0, axis + 1, to_end)});
  });
  e.give(e.node("GatherElements", {source, stretched}, {{"axis", axis}}));
}

// ---- Segments between pointers

Segments pointed_segments(Emission& e) {
  return segments_between(e, e.tensor("src"), e.shape("src"), 0, e.tensor("indptr"), e.shape("indptr").front());
}

Value segment_sizes(Emission& e, DType dtype) { return e.cast(sizes_between(e, e.tensor("indptr"), 0, e.rank("src")), dtype); }

void give_pointed_sums(Emission& e) { e.give(inner_segments(e, segment_sums(e, pointed_segments(e)), 0)); }

void give_pointed_means(Emission& e) {
  const Value sums = inner_segments(e, segment_sums(e, pointed_segments(e)), 0);
  e.give(divide(e, sums, maximum(e, segment_sizes(e, sums.dtype), e.scalar(sums.dtype, 1))));
}

void give_pointed_extremes(Emission& e, Reduction reduction) {
  const SegmentExtremes made = segment_extremes(e, pointed_segments(e), reduction, e.output_used(1));
  if (e.output_used(0)) {
    const Value any = greater(e, segment_sizes(e, DType::i64), e.scalar(DType::i64, 0));
    e.give(0, where(e, any, inner_segments(e, made.values, 0), e.scalar(made.values.dtype, 0)));
  }
  if (e.output_used(1)) e.give(1, inner_segments(e, made.places, 0));
}

void give_pointed_greatest(Emission& e) { give_pointed_extremes(e, Reduction::greatest); }
void give_pointed_least(Emission& e) { give_pointed_extremes(e, Reduction::least); }

void gather_by_pointers(Emission& e) {
  const Value pointers = e.tensor("indptr");
  const Value index = difference(e, pointers_up_to(e, pointers, part(e, pointers, 0, -1, to_end)), e.integers({1}));
  e.give(e.node("Gather", {e.tensor("src"), index}, {{"axis", std::int64_t{0}}}));
}

}  // namespace

void register_torch_scatter(Registry& registry) {
  for (const char* op : {"torch_scatter::scatter_sum", "torch_scatter::segment_sum_coo"})
    registry.handler(op, give_indexed_sums, {"reduced"});
  registry.handler("torch_scatter::scatter_mul", give_indexed_products, {"reduced"});
  for (const char* op : {"torch_scatter::scatter_mean", "torch_scatter::segment_mean_coo"})
    registry.handler(op, give_indexed_means, {"reduced"});
  for (const char* op : {"torch_scatter::scatter_max", "torch_scatter::segment_max_coo"})
    registry.handler(op, give_indexed_greatest, {"reduced"});
  for (const char* op : {"torch_scatter::scatter_min", "torch_scatter::segment_min_coo"})
    registry.handler(op, give_indexed_least, {"reduced"});
  registry.handler("torch_scatter::gather_coo", gather_by_index);
  registry.handler("torch_scatter::segment_sum_csr", give_pointed_sums, {"reduced"});
  registry.handler("torch_scatter::segment_mean_csr", give_pointed_means, {"reduced"});
  registry.handler("torch_scatter::segment_max_csr", give_pointed_greatest, {"reduced"});
  registry.handler("torch_scatter::segment_min_csr", give_pointed_least, {"reduced"});
  registry.handler("torch_scatter::gather_csr", gather_by_pointers);
}

}  // namespace compatcheck::handlers
