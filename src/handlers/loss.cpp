// Losses and distances of two tensors, element by element or along a dimension. The order of operations is PyTorch's, so that
// infinities meet in the same way.
#include <cmath>
#include <numbers>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "symbolic/promotion.h"

namespace compatcheck::handlers {
namespace {

Shape joint_shape(Emission& e, std::initializer_list<const char*> tensors) {
  std::optional<Shape> shape = Shape{};
  for (const char* tensor : tensors) shape = symbolic::broadcast(shape, e.shape(tensor));
  return *shape;
}

// Max and Min broadcast from opset 8 on.
Value bounded_above(Emission& e, const Value& x, double bound) {
  return e.at_least(8) ? e.node("Min", {x, constant(e, x, bound)}) : e.node("Clip", {x}, {{"min", -infinity}, {"max", bound}});
}
Value bounded_below(Emission& e, const Value& x, double bound) {
  if (bound == 0) return e.node("Relu", {x});
  return e.at_least(8) ? e.node("Max", {x, constant(e, x, bound)}) : e.node("Clip", {x}, {{"min", bound}, {"max", infinity}});
}

Value log1p_exp(Emission& e, const Value& x) { return e.node("Log", {add(e, e.node("Exp", {x}), constant(e, x, 1))}); }

// ---- Of self and target

struct Pair {
  Value self, target;
  Shape shape;
};

Pair pair_of(Emission& e, DType dtype) {
  return {e.tensor("self", dtype), e.tensor("target", dtype), joint_shape(e, {"self", "target"})};
}
Pair pair_of(Emission& e) { return pair_of(e, e.output_dtype()); }

// Both in the dtype that they promote to.
Pair promoted_pair(Emission& e) { return pair_of(e, result_type(e, {"self", "target"})); }

// The sum of integers is i64.
Value reduced_in(Emission& e, const Value& value, const Shape& shape, DType dtype) {
  return reduce_loss(e, e.integer("reduction") == 0 ? value : e.cast(value, dtype), shape);
}

void mse_loss(Emission& e) {
  const auto [self, target, shape] = pair_of(e);
  const Value off = subtract(e, self, target);
  e.give(reduce_loss(e, multiply(e, off, off), shape));
}

void l1_loss(Emission& e) {
  const auto [self, target, shape] = promoted_pair(e);
  e.give(reduced_in(e, absolute(e, subtract(e, self, target)), shape, e.output_dtype()));
}

// Returns c · (d - c/2), over `beta` where there is one, with c the distance d cut at the bound.
void cut_loss(Emission& e, double bound, bool over) {
  const auto [self, target, shape] = promoted_pair(e);
  const Value distance = e.node("Abs", {subtract(e, self, target)});
  const Value cut = bounded_above(e, distance, bound);
  Value made = multiply(e, cut, subtract(e, distance, multiply(e, cut, constant(e, cut, 0.5))));
  if (over) made = e.node("Div", {made, constant(e, made, bound)});
  e.give(reduce_loss(e, e.cast(made, e.output_dtype()), shape));
}

void huber_loss(Emission& e) { cut_loss(e, e.number("delta"), false); }
void smooth_l1_loss(Emission& e) { e.number("beta") == 0 ? l1_loss(e) : cut_loss(e, e.number("beta"), true); }

void soft_margin_loss(Emission& e) {
  const auto [self, target, shape] = pair_of(e);
  const Value off = multiply(e, widened(e, e.node("Neg", {self})), widened(e, target));
  const Value exponential = rounded(e, e.node("Exp", {rounded(e, off, self.dtype)}), self.dtype);
  e.give(reduce_loss(e, e.node("Log", {add(e, exponential, constant(e, exponential, 1))}), shape));
}

// t log t, 0 for 0.
Value times_logarithm(Emission& e, const Value& t) {
  const Value zero = e.cast(e.node("Not", {e.node("Greater", {e.node("Abs", {t}), constant(e, t, 0)})}), t.dtype);
  return multiply(e, t, e.node("Log", {add(e, t, zero)}));
}

void kl_div(Emission& e) {
  const auto [self, target, shape] = pair_of(e);
  const Value made = e.boolean("log_target") ? multiply(e, e.node("Exp", {target}), subtract(e, target, self))
                                             : subtract(e, times_logarithm(e, target), multiply(e, target, self));
  e.give(reduce_loss(e, made, shape));
}

// Logarithms are cut at -100.
void binary_cross_entropy(Emission& e) {
  const auto [self, target, shape] = pair_of(e);
  const Value one = constant(e, self, 1);
  const Value yes = bounded_below(e, e.node("Log", {self}), -100),
              no = bounded_below(e, e.node("Log", {subtract(e, one, self)}), -100);
  Value made = subtract(e, multiply(e, subtract(e, target, one), no), multiply(e, target, yes));
  if (e.given("weight")) made = multiply(e, made, e.tensor("weight", made.dtype));
  e.give(reduce_loss(e, made, shape));
}

void binary_cross_entropy_with_logits(Emission& e) {
  const auto [given, labels, shape] = pair_of(e);
  const Value self = widened(e, given), target = widened(e, labels), one = constant(e, self, 1);
  const auto step = [&](const Value& value) { return rounded(e, value, given.dtype); };
  // log sigmoid(x) = min(x, 0) - log(1 + exp(-|x|))
  const Value log_sigmoid =
      subtract(e, e.node("Neg", {e.node("Relu", {e.node("Neg", {self})})}), log1p_exp(e, e.node("Neg", {e.node("Abs", {self})})));
  Value chosen = step(log_sigmoid);
  if (e.given("pos_weight")) {
    const Value more = step(multiply(e, step(subtract(e, e.tensor("pos_weight", self.dtype), one)), target));
    chosen = step(multiply(e, step(add(e, more, one)), chosen));
  }
  Value made = step(subtract(e, step(multiply(e, step(subtract(e, one, target)), self)), chosen));
  if (e.given("weight")) made = step(multiply(e, made, e.tensor("weight", made.dtype)));
  e.give(reduce_loss(e, made, shape));
}

// Stirling's approximation of the logarithm of target!, of targets above 1; halves are rounded at each step.
Value stirling(Emission& e, const Value& target) {
  const Value n = widened(e, target);
  const auto step = [&](const Value& value) { return rounded(e, value, target.dtype); };
  const Value first = step(subtract(e, step(multiply(e, n, step(e.node("Log", {n})))), n));
  const Value second = step(e.node("Log", {step(multiply(e, n, constant(e, n, 2 * std::numbers::pi)))}));
  const Value term = step(add(e, first, step(multiply(e, second, constant(e, n, 0.5)))));
  return where(e, e.node("Greater", {n, constant(e, n, 1)}), term, constant(e, n, 0));
}

// Exponential and logarithm are computed in their own argument's dtype, in which they may overflow.
void poisson_nll_loss(Emission& e) {
  const DType dtype = e.output_dtype(), own = symbolic::to_float(e.dtype("input"));
  const Value input = widened(e, e.tensor("input", own)), target = e.tensor("target", dtype);
  const auto step = [&](const Value& value) { return rounded(e, value, own); };
  Value made;
  if (e.boolean("log_input")) {
    const DType of_both = result_type(e, {"input", "target"});  // integers wrap around
    const Value product = ir::is_floating(of_both)
                              ? multiply(e, target, e.tensor("input", dtype))
                              : e.cast(multiply(e, e.tensor("target", of_both), e.tensor("input", of_both)), dtype);
    made = subtract(e, e.cast(step(e.node("Exp", {input})), dtype), product);
  } else {
    const Value logarithm = e.node("Log", {step(add(e, input, constant(e, input, e.number("eps"))))});
    made = subtract(e, e.tensor("input", dtype), multiply(e, target, e.cast(step(logarithm), dtype)));
  }
  if (e.boolean("full"))
    made = add(e, made, e.cast(stirling(e, e.tensor("target", symbolic::to_float(e.dtype("target")))), dtype));
  e.give(reduce_loss(e, made, joint_shape(e, {"input", "target"})));
}

// ---- With a margin

void margin_ranking_loss(Emission& e) {
  const DType dtype = e.output_dtype();
  // Integers wrap around before the margin is added.
  const DType of_inputs = result_type(e, {"input1", "input2"}), of_all = result_type(e, {"input1", "input2", "target"});
  const Value off = subtract(e, e.tensor("input1", of_inputs), e.tensor("input2", of_inputs));
  const Value target = e.cast(negated(e, e.tensor("target")), of_all);
  const Value product = e.cast(multiply(e, target, e.cast(off, of_all)), dtype);
  const Value made = add(e, product, e.scalar(dtype, e.number("margin")));
  e.give(reduce_loss(e, e.node("Relu", {made}), joint_shape(e, {"input1", "input2", "target"})));
}

// Chooses a value for targets of 1 and another for -1; both for other targets.
Value by_target(Emission& e, const Value& one, const Value& minus_one, bool others) {
  const Value target = e.tensor("target");
  const bool flags = target.dtype == DType::boolean;
  const auto is = [&](std::int64_t value) {
    return flags ? equal(e, e.cast(target, DType::i32), e.scalar(DType::i32, value))
                 : equal(e, target, e.scalar(target.dtype, value));
  };
  const Value none = constant(e, one, 0), first = is(1), second = is(-1);
  if (others) return add(e, where(e, first, none, minus_one), where(e, second, none, one));
  return add(e, where(e, first, one, none), where(e, second, minus_one, none));
}

void hinge_embedding_loss(Emission& e) {
  const Value self = e.tensor("self");
  const double margin = is_floating(self) ? e.number("margin") : std::trunc(e.number("margin"));
  const Value distance = subtract(e, constant(e, self, margin), self);
  const Value zero = constant(e, self, 0);
  const Value far = is_floating(self) ? e.node("Relu", {distance}) : where(e, less(e, distance, zero), zero, distance);
  e.give(reduced_in(e, by_target(e, self, far, true), joint_shape(e, {"self", "target"}), e.output_dtype()));
}

void cosine_embedding_loss(Emission& e) {
  const DType dtype = e.output_dtype();
  const std::int64_t axis = e.rank("target");
  // Products of integers wrap around, their sums are i64.
  const auto sum = [&](const char* x, const char* y) {
    const DType promoted = result_type(e, {x, y}), of_both = promoted == DType::boolean ? DType::i64 : promoted;
    const Value products = multiply(e, e.tensor(x, of_both), e.tensor(y, of_both));
    return e.cast(reduce(e, "ReduceSum", is_floating(products) ? products : e.cast(products, DType::i64), {axis}, false), dtype);
  };
  const auto square = [&](const char* x) { return add(e, sum(x, x), e.scalar(dtype, 1e-12)); };
  const Value cosine =
      e.node("Div", {sum("input1", "input2"), e.node("Sqrt", {multiply(e, square("input1"), square("input2"))})});
  const Value near = subtract(e, constant(e, cosine, 1), cosine);
  const Value far = e.node("Relu", {subtract(e, cosine, constant(e, cosine, e.number("margin")))});
  Shape shape = joint_shape(e, {"input1", "input2"});
  shape.pop_back();
  e.give(reduce_loss(e, by_target(e, near, far, false), symbolic::broadcast(std::move(shape), e.shape("target")).value()));
}

// ---- Distances

void cosine_similarity(Emission& e) {
  const DType dtype = e.output_dtype();
  const Shape shape = joint_shape(e, {"x1", "x2"});
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = e.wrap(e.integer("dim"), rank);
  const bool open = std::ranges::any_of(shape, [](const Dim& dim) { return dim.is_unknown(); });
  const auto direction = [&](const char* name, const char* other) {
    Value x = e.tensor(name, dtype);
    // The length counts what broadcasting repeats.
    const std::int64_t here = axis - (rank - e.rank(name));
    const bool whole = rank == 0 || (here >= 0 && provably_equal(e.shape(name)[static_cast<std::size_t>(here)],
                                                                 shape[static_cast<std::size_t>(axis)]));
    if (!whole) x = e.node("Expand", {x, open ? e.node("Shape", {e.tensor(other)}) : e.dims_value(shape)});
    const Value length = reduce(e, "ReduceL2", x, rank == 0 ? Ints{} : Ints{whole ? here : axis}, true);
    return e.node("Div", {x, bounded_below(e, length, e.number("eps"))});
  };
  e.give(
      reduce(e, "ReduceSum", multiply(e, direction("x1", "x2"), direction("x2", "x1")), rank == 0 ? Ints{} : Ints{axis}, false));
}

// Differences of integers wrap around.
Value distance(Emission& e, const char* a, const char* b, bool keep) {
  const std::int64_t rank = std::max(e.rank(a), e.rank(b));
  const DType of_both = result_type(e, {a, b});
  const Value difference = e.cast(subtract(e, e.tensor(a, of_both), e.tensor(b, of_both)), symbolic::to_float(of_both));
  const Value off = add(e, difference, constant(e, difference, e.number("eps")));
  return vector_norm(e, off, e.number("p"), rank == 0 ? Ints{} : Ints{rank - 1}, keep);
}

void pairwise_distance(Emission& e) { e.give(distance(e, "x1", "x2", e.boolean("keepdim"))); }

void triplet_margin_loss(Emission& e) {
  const DType dtype = e.output_dtype();
  Shape shape = joint_shape(e, {"anchor", "positive", "negative"});
  const auto between = [&](const char* a, const char* b) { return e.cast(distance(e, a, b, false), dtype); };
  const Value near = between("anchor", "positive");
  Value far = between("anchor", "negative");
  if (e.boolean("swap")) far = e.node("Min", {far, between("positive", "negative")});
  if (!shape.empty()) shape.pop_back();
  e.give(reduce_loss(e, e.node("Relu", {subtract(e, add(e, near, constant(e, near, e.number("margin"))), far)}), shape));
}

}  // namespace

void register_loss(Registry& registry) {
  registry.handler("aten::mse_loss", mse_loss);
  registry.handler("aten::l1_loss", l1_loss);
  registry.handler("aten::huber_loss", huber_loss);
  registry.handler("aten::smooth_l1_loss", smooth_l1_loss);
  registry.handler("aten::soft_margin_loss", soft_margin_loss);
  registry.handler("aten::kl_div", kl_div);
  registry.handler("aten::binary_cross_entropy", binary_cross_entropy);
  registry.handler("aten::binary_cross_entropy_with_logits", binary_cross_entropy_with_logits);
  registry.handler("aten::poisson_nll_loss", poisson_nll_loss);
  registry.handler("aten::margin_ranking_loss", margin_ranking_loss);
  registry.handler("aten::hinge_embedding_loss", hinge_embedding_loss);
  registry.handler("aten::cosine_embedding_loss", cosine_embedding_loss);
  registry.handler("aten::cosine_similarity", cosine_similarity);
  registry.handler("aten::pairwise_distance", pairwise_distance);
  registry.handler("aten::triplet_margin_loss", triplet_margin_loss);
}

}  // namespace compatcheck::handlers
