// Reductions over dimensions, and sums along one.
#include <algorithm>

#include "handlers/compute.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// ---- Of all elements, or over `dim`

Ints axes_of(Emission& e) { return e.axes("dim"); }

// Without elements `all` is true and `any` is false.
template <bool every>
Value all_or_any_of(Emission& e, const Value& x) {
  const Ints axes = axes_of(e);
  const bool keep = e.boolean("keepdim");
  if (!may_be_empty(e.shape("self"), axes)) return reduce(e, every ? "ReduceMin" : "ReduceMax", x, axes, keep);
  const Value counted = e.cast(every ? e.node("Not", {x}) : x, DType::i64);
  const Value found = e.cast(reduce(e, "ReduceSum", counted, axes, keep), DType::boolean);
  return every ? e.node("Not", {found}) : found;
}

// All elements of a tensor of any rank: reduced as a vector.
bool give_reduced_vector(Emission& e, std::string_view op) {
  if (e.call.rank("self") || e.given("dim") || (e.call.has("keepdim") && e.boolean("keepdim"))) return false;
  const Value all = e.build.reshape(e.tensor("self", e.output_dtype()), {-1});
  const Shape shape{Dim::unknown()};
  return e.give(op == "ReduceMean" ? mean(e, all, shape, {0}, false) : reduce(e, op, all, {0}, false)), true;
}

// A sum of bools is true if one of them is, a product if all are.
void sum_over_dims(Emission& e) {
  if (e.output_dtype() != DType::boolean && give_reduced_vector(e, "ReduceSum")) return;
  if (e.output_dtype() == DType::boolean) return e.give(all_or_any_of<false>(e, e.tensor("self", DType::boolean)));
  e.give(reduce(e, "ReduceSum", e.tensor("self", e.output_dtype()), axes_of(e), e.boolean("keepdim")));
}
void product_over_dims(Emission& e) {
  if (e.output_dtype() != DType::boolean && give_reduced_vector(e, "ReduceProd")) return;
  if (e.output_dtype() == DType::boolean) return e.give(all_or_any_of<true>(e, e.tensor("self", DType::boolean)));
  e.give(reduce(e, "ReduceProd", e.tensor("self", e.output_dtype()), axes_of(e), e.boolean("keepdim")));
}

void mean_over_dims(Emission& e) {
  if (give_reduced_vector(e, "ReduceMean")) return;
  e.give(mean(e, e.tensor("self", e.output_dtype()), e.shape("self"), axes_of(e), e.boolean("keepdim")));
}

// Where ONNX Runtime reduces all dimensions, infinity hides NaN: one more keeps it from that.
void logsumexp(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  const auto over = [&](const Value& value, const Ints& axes) {
    return reduce(e, "ReduceLogSumExp", value, axes, e.boolean("keepdim"));
  };
  Ints axes = axes_of(e);
  if (axes.empty() || std::ssize(axes) < e.rank("self")) return e.give(over(x, axes));
  for (std::int64_t& axis : axes) ++axis;
  e.give(e.build.squeeze(over(e.build.unsqueeze(x, {0}), axes), {0}));
}

template <Extreme which>
void amax(Emission& e) {
  e.give(extreme(e, which, e.tensor("self"), axes_of(e), e.boolean("keepdim")));
}

void aminmax(Emission& e) {
  const Value x = e.tensor("self");
  if (e.output_used(0)) e.give(0, extreme(e, Extreme::least, x, axes_of(e), e.boolean("keepdim")));
  if (e.output_used(1)) e.give(1, extreme(e, Extreme::greatest, x, axes_of(e), e.boolean("keepdim")));
}

template <Extreme which>
void max_along(Emission& e) {
  const Value x = e.tensor("self");
  const bool scalar = e.rank("self") == 0, keep = e.boolean("keepdim");
  if (e.output_used(0)) e.give(0, extreme(e, which, x, axes_of(e), keep));
  if (e.output_used(1)) e.give(1, scalar ? e.scalar(DType::i64, 0) : place_of_extreme(e, which, x, e.axis("dim"), keep));
}

template <Extreme which>
void argmax(Emission& e) {
  const std::int64_t rank = e.rank("self");
  if (rank == 0) return e.give(e.scalar(DType::i64, 0));
  const bool keep = e.boolean("keepdim");
  if (e.given("dim")) return e.give(place_of_extreme(e, which, e.tensor("self"), e.axis("dim"), keep));
  const Value place = place_of_extreme(e, which, e.build.reshape(e.tensor("self"), {-1}), 0, keep);
  e.give(keep && rank > 1 ? e.build.reshape(place, Ints(static_cast<std::size_t>(rank), 1)) : place);
}

// With `out=` of u8, PyTorch first converts the elements to u8 (rounded, wrapped), except a single one.
Value truths(Emission& e) {
  const ir::Node* made = e.call.value("self")->producer();
  if (!e.call.node().attribute("out") || !made || !made->is("aten::type_as") || e.dtype("self") != DType::u8)
    return e.tensor("self", DType::boolean);
  const Shape& shape = e.shape("self");
  if (std::ranges::any_of(shape, [](const Dim& size) { return size.is_number() && size.number() != 1; }))
    return e.tensor("self", DType::boolean);
  if (symbolic::product(shape).number() == 1) return e.cast(e.tensor_of(made->input(0)), DType::boolean);
  throw Refusal{"`out` of u8 depends on whether there is one element alone, which is known only when the model runs",
                "use numbers as sizes, such as --input x=f32:1,3,224,224"};
}

template <bool every>
void all_or_any(Emission& e) {
  e.give(all_or_any_of<every>(e, truths(e)));
}

void count_nonzero(Emission& e) {
  const Value true_ones = e.cast(e.tensor("self", DType::boolean), DType::i64);
  e.give(reduce(e, "ReduceSum", true_ones, axes_of(e), false));
}

// ---- Passing over NaN

void nansum(Emission& e) {
  Value x = e.tensor("self");
  if (is_floating(x)) x = where(e, is_nan(e, x), e.scalar(x.dtype, 0), x);
  if (e.output_dtype() == DType::boolean) return e.give(all_or_any_of<false>(e, e.cast(x, DType::boolean)));
  e.give(reduce(e, "ReduceSum", e.cast(x, e.output_dtype()), axes_of(e), e.boolean("keepdim")));
}

void nanmean(Emission& e) {
  const DType dtype = e.output_dtype();
  const bool keep = e.boolean("keepdim");
  const Value x = e.tensor("self", dtype), nan = is_nan(e, x);
  const Value sum = reduce(e, "ReduceSum", where(e, nan, e.scalar(dtype, 0), x), axes_of(e), keep);
  // Counted in f32, because f16 ends at 65504.
  const Value numbers = e.cast(e.node("Not", {nan}), dtype == DType::f64 ? dtype : DType::f32);
  const Value count = reduce(e, "ReduceSum", numbers, axes_of(e), keep);
  e.give(e.node("Div", {e.cast(sum, count.dtype), count}));
}

// ---- Others

void trace(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  const auto rows = e.size("self", 0), columns = e.size("self", 1);
  if (rows && columns) {
    Ints places;
    for (std::int64_t i = 0; i < std::min(*rows, *columns); ++i) places.push_back(i * (*columns + 1));
    const Value diagonal = e.build.gather(e.build.reshape(x, {-1}), e.integers(places), 0);
    return e.give(reduce(e, "ReduceSum", diagonal, {0}, false));
  }
  const Value on = e.cast(e.node("EyeLike", {x}, {{"dtype", onnx::data_type(DType::f32)}}, DType::f32), DType::boolean);
  e.give(reduce(e, "ReduceSum", where(e, on, x, e.scalar(x.dtype, 0)), {0, 1}, false));
}

// Reverses broadcasting: sums leading dimensions away, and sums to size 1 where that is asked.
void sum_to_size(Emission& e) {
  const Shape& from = e.shape("self");
  const auto to = e.call.dims("size");
  if (!to) e.want("size", "the value");
  const std::size_t leading = from.size() - to->size();
  Ints gone, summed;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < leading)
      gone.push_back(static_cast<std::int64_t>(i));
    else if (provably_equal(from[i], (*to)[i - leading]))
      continue;
    else if ((*to)[i - leading].number() == 1)
      summed.push_back(static_cast<std::int64_t>(i));
    else
      throw Refusal{"which dimensions are summed is known only when the model runs",
                    "use numbers as sizes, such as --input x=f32:1,3,224,224"};
  }
  Value x = e.tensor("self", e.output_dtype());
  if (!summed.empty()) x = reduce(e, "ReduceSum", x, summed, true);
  if (!gone.empty()) x = reduce(e, "ReduceSum", x, gone, false);
  e.give(x);
}

}  // namespace

void register_reduction(Registry& registry) {
  registry.handler("aten::sum", sum_over_dims);
  registry.handler("aten::mean", mean_over_dims);
  registry.handler("aten::prod", product_over_dims);
  registry.handler("aten::prod.dim_int", product_over_dims);
  registry.handler("aten::amax", amax<Extreme::greatest>);
  registry.handler("aten::amin", amax<Extreme::least>);
  registry.handler("aten::max", amax<Extreme::greatest>);
  registry.handler("aten::min", amax<Extreme::least>);
  registry.handler("aten::aminmax", aminmax);
  registry.handler("aten::max.dim", max_along<Extreme::greatest>);
  registry.handler("aten::min.dim", max_along<Extreme::least>);
  registry.handler("aten::argmax", argmax<Extreme::greatest>);
  registry.handler("aten::argmin", argmax<Extreme::least>);
  registry.handler("aten::all", all_or_any<true>);
  registry.handler("aten::any", all_or_any<false>);
  registry.handler("aten::logsumexp", logsumexp);
  registry.handler("aten::count_nonzero", count_nonzero);
  registry.handler("aten::nansum", nansum);
  registry.handler("aten::nanmean", nanmean);
  registry.handler("aten::trace", trace);
  registry.handler("aten::sum_to_size", sum_to_size);
}

}  // namespace compatcheck::handlers
