// Losses of classes: targets are class numbers, or probabilities.
#include <limits>
#include <numeric>

#include "handlers/activation_softmax.h"
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

const char* reduction_name(std::int64_t reduction) {
  constexpr const char* names[] = {"none", "mean", "sum"};
  if (reduction < 0 || reduction > 2) throw Refusal{"an unknown reduction"};
  return names[reduction];
}

std::int64_t class_axis(std::int64_t rank) { return rank == 1 ? 0 : 1; }

// A vector of one number per class, to where it broadcasts with scores.
Value by_class(Emission& e, const Value& vector, std::int64_t rank) {
  Ints dims(static_cast<std::size_t>(rank - class_axis(rank)), 1);
  dims.front() = -1;
  return dims.size() == 1 ? vector : e.build.reshape(vector, dims);
}

Value class_numbers(Emission& e, std::int64_t rank) {
  Ints numbers(static_cast<std::size_t>(e.known_size("self", class_axis(rank))));
  std::iota(numbers.begin(), numbers.end(), 0);
  return by_class(e, e.integers(numbers), rank);
}

// ---- Class numbers

// One for each row; of a vector of scores it may stand in a vector.
Value class_targets(Emission& e, std::int64_t rank) {
  const Value target = e.tensor("target", DType::i64);
  return rank == 1 && e.rank("target") == 1 ? e.build.squeeze(target, {0}) : target;
}

struct Targets {
  Value mask;     // shape of the scores: true at the target's class
  Value counted;  // shape of the targets: false at ignore_index
};

Targets targets_of(Emission& e, std::int64_t rank) {
  const Value target = class_targets(e, rank);
  return {e.node("Equal", {e.build.unsqueeze(target, {class_axis(rank)}), class_numbers(e, rank)}),
          e.node("Not", {e.node("Equal", {target, e.number_value("ignore_index", DType::i64)})})};
}

Value summed_over_classes(Emission& e, const Value& x, std::int64_t rank) {
  return reduce(e, "ReduceSum", x, {class_axis(rank)}, false);
}

// The weight of each target's class, 0 for one that is ignored.
Value weights_of(Emission& e, const Targets& targets, DType dtype, std::int64_t rank) {
  const Value none = e.scalar(dtype, 0);
  if (!e.given("weight")) return e.cast(targets.counted, dtype);
  const Value weight = by_class(e, e.tensor("weight", dtype), rank);
  return where(e, targets.counted, summed_over_classes(e, where(e, targets.mask, weight, none), rank), none);
}

Value reduced_by_weight(Emission& e, const Value& losses, const Value& weights, std::int64_t rank) {
  const Ints axes = all_axes(rank - 1);
  const std::int64_t reduction = e.integer("reduction");
  reduction_name(reduction);
  if (reduction == 0) return losses;
  const Value sum = reduce(e, "ReduceSum", losses, axes, false);
  return reduction == 2 ? sum : e.node("Div", {sum, reduce(e, "ReduceSum", weights, axes, false)});
}

// Returns the loss of log-probabilities, written out.
Value likelihood(Emission& e, const Value& x, std::int64_t rank, const Targets& targets) {
  const Value none = e.scalar(x.dtype, 0);
  const Value weights = weights_of(e, targets, x.dtype, rank);
  const Value picked = e.node("Neg", {summed_over_classes(e, where(e, targets.mask, x, none), rank)});
  return reduced_by_weight(e, where(e, targets.counted, e.node("Mul", {picked, weights}), none), weights, rank);
}

// ONNX's own operators, which want a batch.
Value loss_by_operator(Emission& e, std::string_view op, std::int64_t rank) {
  Value x = e.tensor("self"), target = e.tensor("target", DType::i64);
  if (rank == 1) x = e.build.unsqueeze(x, {0}), target = e.rank("target") == 0 ? e.build.unsqueeze(target, {0}) : target;
  Values inputs{x, target};
  if (e.given("weight")) inputs.push_back(e.tensor("weight", x.dtype));
  const std::int64_t reduction = e.integer("reduction");
  const Value made = e.node(op, inputs, {{"reduction", reduction_name(reduction)}, {"ignore_index", e.integer("ignore_index")}});
  return rank == 1 && reduction == 0 && e.output_rank() == 0 ? e.build.squeeze(made, {0}) : made;
}

void nll_loss(Emission& e) {
  const std::int64_t rank = e.rank("self");
  if (e.variant("operator")) return e.give(loss_by_operator(e, "NegativeLogLikelihoodLoss", rank));
  e.give(likelihood(e, e.tensor("self"), rank, targets_of(e, rank)));
}

// ---- Cross entropy

// Returns the loss of probabilities: -Σ target · log softmax
void of_probabilities(Emission& e, std::int64_t rank) {
  const std::int64_t axis = class_axis(rank);
  const Value logs = log_softmax(e, e.tensor("self"), rank, axis);
  Value target = e.tensor("target", logs.dtype);
  if (const double smoothing = e.number("label_smoothing", 0); smoothing > 0) {
    const double share = smoothing / static_cast<double>(e.known_size("self", axis));
    target = e.node("Add", {e.node("Mul", {target, e.scalar(target.dtype, 1 - smoothing)}), e.scalar(target.dtype, share)});
  }
  Value product = e.node("Mul", {logs, target});
  if (e.given("weight")) product = e.node("Mul", {product, by_class(e, e.tensor("weight", product.dtype), rank)});
  const Value losses = e.node("Neg", {summed_over_classes(e, product, rank)});
  Shape shape = e.shape("self");
  const Dim classes = shape.at(static_cast<std::size_t>(axis));
  shape.erase(shape.begin() + axis);
  const Value loss = reduce_loss(e, losses, shape);
  if (e.integer("reduction") != 1 || !may_be_zero(classes)) return e.give(loss);
  // The mean over nothing is NaN, without classes too.
  const Value count = e.cast(e.build.reshape(e.size_of("self", axis), {}), DType::f32);
  e.give(e.node("Mul", {loss, e.cast(e.node("Div", {count, count}), loss.dtype)}));
}

// (1 - s) · loss + s · the mean over all classes
void smoothed(Emission& e, std::int64_t rank, double smoothing) {
  const Value logs = log_softmax(e, e.tensor("self"), rank, class_axis(rank));
  const Targets targets = targets_of(e, rank);
  const DType dtype = logs.dtype;
  const Value loss = likelihood(e, logs, rank, targets);
  const Value weighed = e.given("weight") ? e.node("Mul", {logs, by_class(e, e.tensor("weight", dtype), rank)}) : logs;
  const Value even = where(e, targets.counted, e.node("Neg", {summed_over_classes(e, weighed, rank)}), e.scalar(dtype, 0));
  const Value spread = reduced_by_weight(e, even, weights_of(e, targets, dtype, rank), rank);
  const double share = smoothing / static_cast<double>(e.known_size("self", class_axis(rank)));
  e.give(e.node("Add", {e.node("Mul", {loss, e.scalar(dtype, 1 - smoothing)}), e.node("Mul", {spread, e.scalar(dtype, share)})}));
}

void cross_entropy_loss(Emission& e) {
  const std::int64_t rank = e.rank("self");
  if (ir::is_floating(e.dtype("target"))) return of_probabilities(e, rank);
  if (e.variant("operator")) return e.give(loss_by_operator(e, "SoftmaxCrossEntropyLoss", rank));
  const double smoothing = e.number("label_smoothing");
  if (smoothing > 0) return smoothed(e, rank, smoothing);
  e.give(likelihood(e, log_softmax(e, e.tensor("self"), rank, class_axis(rank)), rank, targets_of(e, rank)));
}

// Returns the loss of a layer's scores. An ignored row counts 0 times its loss: NaN stays.
void linear_cross_entropy(Emission& e) {
  const DType dtype = e.dtype("input") == DType::f64 ? DType::f64 : DType::f32;
  Value scores = e.node("MatMul", {e.tensor("input", dtype), e.build.transpose(e.tensor("linear_weight", dtype), {1, 0})});
  if (e.given("linear_bias")) scores = e.node("Add", {scores, e.tensor("linear_bias", dtype)});
  const Value logs = log_softmax(e, scores, 2, 1);
  Ints numbers(static_cast<std::size_t>(e.known_size("linear_weight", 0)));
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::int64_t ignored = e.integer("ignore_index");
  const Value given = e.tensor("target");
  const Value counted = e.node("Not", {e.node("Equal", {given, e.scalar(DType::i64, ignored)})});
  const bool is_class = ignored >= 0 && ignored < static_cast<std::int64_t>(numbers.size());
  const Value target = is_class ? given : where(e, counted, given, e.scalar(DType::i64, 0));
  const Value mask = e.node("Equal", {e.build.unsqueeze(target, {1}), e.integers(numbers)}), none = e.scalar(dtype, 0);
  const Value picked = e.node("Neg", {summed_over_classes(e, where(e, mask, logs, none), 2)});
  Value weights = e.cast(counted, dtype);
  if (e.given("weight"))
    weights = where(e, counted, summed_over_classes(e, where(e, mask, e.tensor("weight", dtype), none), 2), none);
  const Value losses = e.node("Mul", {picked, weights});
  if (!e.call.has("reduction")) return e.give(losses);
  const Value sum = reduce(e, "ReduceSum", losses, {0}, false);
  if (e.string("reduction") == "sum") return e.give(sum);
  Value all = reduce(e, "ReduceSum", weights, {0}, false);
  if (e.given("weight")) all = where(e, equal(e, all, none), e.scalar(dtype, std::numeric_limits<double>::quiet_NaN()), all);
  e.give(e.node("Div", {sum, all}));
}

// ---- Margins

// The sum over other classes of max(0, margin - the target's score + theirs) to the power p; NaN counts nothing, as in PyTorch.
void multi_margin_loss(Emission& e) {
  const std::int64_t rank = e.rank("self"), axis = std::max<std::int64_t>(rank - 1, 0);
  const Value x = rank == 0 ? e.build.reshape(e.tensor("self"), {1}) : e.tensor("self");  // a scalar is one class
  Ints numbers(static_cast<std::size_t>(rank == 0 ? 1 : e.known_size("self", axis)));
  std::iota(numbers.begin(), numbers.end(), 0);
  Value target = e.tensor("target");
  const std::int64_t dimensions = e.rank("target"), rows = rank == 2 ? 1 : 0;
  if (rank == 2 || dimensions == 0) target = e.build.unsqueeze(target, {dimensions});
  const Value mask = e.node("Equal", {target, e.integers(numbers)}), none = e.scalar(x.dtype, 0);
  const Value own = reduce(e, "ReduceSum", where(e, mask, x, none), {axis}, true);
  const Value over = e.node("Add", {e.node("Sub", {e.number_value("margin", x.dtype), own}), x});
  const Value counted = e.node("And", {e.node("Greater", {over, none}), e.node("Not", {mask})});
  Value each = where(e, counted, e.number("p") == 2 ? e.node("Mul", {over, over}) : over, none);
  if (e.given("weight")) {
    const Value weight = e.tensor("weight", x.dtype);
    each = e.node("Mul", {each, reduce(e, "ReduceSum", where(e, mask, weight, none), {axis}, true)});
  }
  Value losses = reduce(e, "ReduceMean", each, {axis}, false);
  if (rows != dimensions) losses = dimensions == 0 ? e.build.squeeze(losses, {0}) : e.build.unsqueeze(losses, {0});
  e.give(reduce_loss(e, losses, e.shape("target")));
}

}  // namespace

void register_loss_class(Registry& registry) {
  for (const char* op : {"aten::nll_loss", "aten::nll_loss_forward"}) registry.handler(op, nll_loss, {"operator"});
  registry.handler("aten::cross_entropy_loss", cross_entropy_loss, {"operator"});
  for (const char* op :
       {"torch_nn::_linear_cross_entropy_batch_chunked", "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction"})
    registry.handler(op, linear_cross_entropy);
  registry.handler("aten::multi_margin_loss", multi_margin_loss);
}

}  // namespace compatcheck::handlers
