// Losses, distances and backward operators: facts.
#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// `reduction`: 0 none, 1 mean, 2 sum.
Facts reduced_loss(const Call& call, std::optional<DType> dtype, std::optional<Shape> unreduced) {
  const auto reduction = call.integer("reduction");
  if (!reduction) return {tensor_fact(dtype, std::nullopt)};
  return {tensor_fact(dtype, *reduction == 0 ? std::move(unreduced) : std::optional(Shape{}))};
}

// Returns the facts of a function of several tensor arguments that broadcast; with a margin, which is a float, integers become
// floats.
Facts elementwise(const Call& call, std::initializer_list<const char*> arguments, bool margin = false) {
  Promotion promotion;
  std::optional<Shape> shape = Shape{};
  for (const char* argument : arguments) {
    if (call.is_none(argument)) continue;
    promotion.add(call.fact(argument));
    shape = broadcast(shape, tensor_of(call, argument).shape);
  }
  return reduced_loss(call, margin ? as_float(promotion.result()) : promotion.result(), std::move(shape));
}

// Returns the dtype of a reduced loss: integers have no mean, and their sum is i64.
std::optional<DType> reduced_dtype(const Call& call, std::optional<DType> dtype) {
  if (!dtype || !ir::is_integral(*dtype) || call.integer("reduction").value_or(0) == 0) return dtype;
  if (call.integer("reduction") == 1) throw Impossible{"there is no mean of integers"};
  return DType::i64;
}

Facts between(const Call& call) { return elementwise(call, {"self", "target"}); }

Facts kl_div(const Call& call) {
  demand_floating(call, "self");
  demand_floating(call, "target");
  return between(call);
}

Facts l1(const Call& call) {
  demand_no_bools(call, {"self", "target"});
  Facts facts = between(call);
  auto* tensor = std::get_if<TensorFact>(&facts.front().value);
  tensor->dtype = reduced_dtype(call, tensor->dtype);
  return facts;
}

// Returns facts with the dtype of one argument, whatever the others promote to.
Facts as_argument(const Call& call, std::initializer_list<const char*> arguments, const char* like) {
  Facts facts = elementwise(call, arguments);
  std::get_if<TensorFact>(&facts.front().value)->dtype = call.dtype_of(like);
  return facts;
}

Facts of_floating_self(const Call& call) {
  demand_floating(call, "self");
  return as_argument(call, {"self", "target"}, "self");
}

// (1 - target) has the dtype of the whole computation.
Facts with_logits(const Call& call) {
  demand_floating(call, "target");
  return as_argument(call, {"self", "target", "weight"}, "target");
}

Facts hinge(const Call& call) {
  demand_no_bools(call, {"self"});
  Facts facts = as_argument(call, {"self", "target"}, "self");
  auto* tensor = std::get_if<TensorFact>(&facts.front().value);
  tensor->dtype = reduced_dtype(call, tensor->dtype);
  return facts;
}

// exp(input) is a float before the product with the target is subtracted.
Facts poisson(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  if (call.dtype_of("target") == DType::boolean && (input.dtype == DType::boolean || call.boolean("full") == true))
    demand_no_bools(call, {"target"});
  if (call.boolean("log_input") == false) demand_no_bools(call, {"input"});
  const auto shape = broadcast(input.shape, tensor_of(call, "target").shape);
  Promotion product, promotion;
  // The logarithm of the input is a float before it meets the target.
  product.add(call.boolean("log_input") == false ? tensor_fact(as_float(input.dtype), input.shape) : call.fact("input"));
  product.add(call.fact("target"));
  promotion.add(tensor_fact(as_float(input.dtype), input.shape));
  promotion.add(tensor_fact(product.result(), shape));
  return reduced_loss(call, promotion.result(), shape);
}

Facts margin_ranking(const Call& call) {
  demand_no_bools(call, {"input1", "input2", "target"});
  return elementwise(call, {"input1", "input2", "target"}, true);
}

Facts of_self(const Call& call) { return reduced_loss(call, self_of(call).dtype, self_of(call).shape); }

// Demands an index of a class for each element of (classes), (batch, classes) or (batch, classes, ...); cross_entropy_loss
// accepts a target of the scores' own shape for probabilities.
void demand_classes(const Call& call) {
  const auto &self = self_of(call).shape, &target = tensor_of(call, "target").shape;
  const bool pictures = call.op().starts_with("aten::nll_loss2d"), entropy = call.op() == "aten::cross_entropy_loss";
  Demands demands;
  if (!entropy && call.op() != "aten::nll_loss_nd") demands.rank(call, "self", pictures ? 4 : 1, pictures ? 4 : 2);
  if (self && self->empty()) demands.broken("'self' has no dimension of classes");
  if (!self || self->empty()) return demands.hold();
  const std::size_t rank = self->size(), classes = rank == 1 ? 0 : 1;
  if (rank <= 2 && !call.is_none("weight")) demands.rank(call, "weight", 1, 1);
  if (const auto& weight = tensor_of(call, "weight").shape; weight && !call.is_none("weight"))
    demands.equal(product(*weight), (*self)[classes], "the number of weights");
  const auto dtype = call.dtype_of("target");
  const bool floating = dtype && ir::is_floating(*dtype);
  // For one vector, the dtype distinguishes probabilities from one index.
  const bool scores = entropy && (rank == 1 ? floating : target && target->size() == rank);
  if (dtype && scores && !floating) demands.broken("'target' must hold the probabilities of classes, which are floating");
  if (dtype && !scores && (target || !entropy) && *dtype != DType::i64 && (*dtype != DType::u8 || rank > 2))
    demands.broken("'target' must hold indices of classes");
  if (!target) return demands.hold();
  if (scores || rank > 1) {
    demands.rank(call, "target", scores ? rank : rank - 1, scores ? rank : rank - 1);
    demands.hold();
    for (std::size_t i = 0; i < target->size(); ++i)
      demands.equal((*target)[i], (*self)[scores || i == 0 ? i : i + 1], "dimension " + std::to_string(i) + " of 'target'");
    return demands.hold();
  }
  demands.rank(call, "target", 0, 1);
  if (dtype || !entropy) demands.equal(product(*target), 1, "the number of classes in 'target'");
  if (entropy && dtype && target->size() == 1) {
    if ((*self)[0].number() == 1) demands.broken("'target' must hold the probability of the only class, which is floating");
    if (call.number("label_smoothing").value_or(0) > 0)
      demands.broken("'target' must have no dimensions where labels are smoothed");
  }
  demands.hold();
}

// One loss for each class index: the dimension of the classes goes.
Facts by_class(const Call& call) {
  demand_classes(call);
  const TensorFact& self = self_of(call);
  std::optional<Shape> shape = self.shape;
  if (shape && !shape->empty()) shape->erase(shape->begin() + (shape->size() == 1 ? 0 : 1));
  Facts facts = reduced_loss(call, self.dtype, std::move(shape));
  if (call.node().outputs().size() > 1) facts.push_back(tensor_fact(self.dtype, Shape{}));
  return facts;
}

// Returns the facts of a linear layer and cross entropy: (batch, features) by (classes, features); the gradients are results,
// too.
Facts linear_entropy(const Call& call) {
  const TensorFact &input = tensor_of(call, "input"), &weight = tensor_of(call, "linear_weight");
  Demands demands;
  for (const char* matrix : {"input", "linear_weight"}) demands.rank(call, matrix, 2, 2);
  for (const char* vector : {"target", "linear_bias", "weight"})
    if (!call.is_none(vector)) demands.rank(call, vector, 1, 1);
  demands.one_dtype(call, {"input", "linear_weight"});
  demands.hold();
  demands.equal(size_at(input, 1), size_at(weight, 1), "the number of features");
  demands.equal(size_at(tensor_of(call, "target"), 0), size_at(input, 0), "the number of targets");
  for (const char* vector : {"linear_bias", "weight"})
    if (!call.is_none(vector))
      demands.equal(size_at(tensor_of(call, vector), 0), size_at(weight, 0), "the size of '" + std::string(vector) + "'");
  demands.hold();
  Facts facts{tensor_fact(input.dtype, call.has("reduction") ? Shape{} : Shape{size_at(input, 0)})};
  while (facts.size() < call.node().outputs().size()) facts.push_back(tensor_fact(input.dtype, std::nullopt));
  return facts;
}

// One loss for each row of (batch, classes), or for one vector.
Facts by_row(const Call& call) {
  const TensorFact& self = self_of(call);
  std::optional<Shape> shape = self.shape;
  if (shape && !shape->empty()) shape->pop_back();
  return reduced_loss(call, self.dtype, std::move(shape));
}

// One loss for each index of a class, in the indices' shape.
Facts multi_margin(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto& target = tensor_of(call, "target").shape;
  Demands demands;
  demands.rank(call, "target", 0, 1);
  if (target && self.shape)
    demands.equal(product(*target), self.shape->size() < 2 ? Dim(1) : self.shape->front(), "the number of classes in 'target'");
  demands.hold();
  return reduced_loss(call, self.dtype, target);
}

Facts cosine_embedding(const Call& call) {
  if (const auto rank = call.rank("target")) {
    Demands demands;
    demands.rank(call, "target", 0, 1);
    demands.rank(call, "input1", *rank + 1, *rank + 1);
    demands.rank(call, "input2", *rank + 1, *rank + 1);
    demands.hold();
    const Dim targets = *rank == 1 ? size_at(tensor_of(call, "target"), 0) : Dim(1);
    for (const char* name : {"input1", "input2"})
      if (const auto& shape = tensor_of(call, name).shape; shape && targets.number() != 1 && shape->front().number() != 1)
        demands.equal(shape->front(), targets, "the number of rows of " + std::string(name));
    demands.hold();
  }
  // Sums of squares of integers are floats before they are promoted with those of the other.
  Promotion promotion;
  for (const char* name : {"input1", "input2"})
    promotion.add(tensor_fact(as_float(call.dtype_of(name)), tensor_of(call, name).shape));
  // One loss for each row, which a target of one broadcasts to.
  auto rows = broadcast(tensor_of(call, "input1").shape, tensor_of(call, "input2").shape);
  if (rows && !rows->empty()) rows->pop_back();
  return reduced_loss(call, promotion.result(), broadcast(std::move(rows), tensor_of(call, "target").shape));
}

Facts triplet(const Call& call) {
  demand_no_bools(call, {"anchor", "positive", "negative"});
  // Distances are floats before one is subtracted from the other.
  std::optional<DType> dtype;
  bool known = true;
  for (const char* argument : {"positive", "negative"}) {
    Promotion pair;
    pair.add(call.fact("anchor"));
    pair.add(call.fact(argument));
    const auto one = as_float(pair.result());
    known = known && one;
    dtype = dtype && one ? promote_types(*dtype, *one) : one;
  }
  if (!known) dtype.reset();
  auto shape =
      broadcast(broadcast(tensor_of(call, "anchor").shape, tensor_of(call, "positive").shape), tensor_of(call, "negative").shape);
  if (shape && !shape->empty()) shape->pop_back();
  return reduced_loss(call, dtype, std::move(shape));
}

Facts ctc(const Call& call) {
  const TensorFact& scores = tensor_of(call, "log_probs");
  std::optional<Shape> shape;
  if (scores.shape) shape = scores.shape->size() == 3 ? Shape{(*scores.shape)[1]} : Shape{};
  return reduced_loss(call, scores.dtype, std::move(shape));
}

// ---- Distances

std::optional<DType> float_of(const Call& call, const char* a, const char* b) {
  Promotion promotion;
  promotion.add(call.fact(a));
  promotion.add(call.fact(b));
  return as_float(promotion.result());
}

// The tensors' dtypes are promoted whether they have dimensions or not.
Facts cosine_similarity(const Call& call) {
  const auto dim = call.integer("dim");
  const auto shape = broadcast(tensor_of(call, "x1").shape, tensor_of(call, "x2").shape);
  const auto a = call.dtype_of("x1"), b = call.dtype_of("x2");
  const auto dtype = a && b ? promote_types(*a, *b) : std::nullopt;
  if (dtype && !ir::is_floating(*dtype) && !ir::is_complex(*dtype)) throw Impossible{"one of the two must be floating"};
  return {tensor_fact(dtype, dim && shape ? reduce_shape(*shape, std::vector{*dim}, false) : std::nullopt)};
}

Facts pairwise_distance(const Call& call) {
  demand_no_bools(call, {"x1", "x2"});
  const auto keep = call.boolean("keepdim");
  const auto shape = broadcast(tensor_of(call, "x1").shape, tensor_of(call, "x2").shape);
  return {tensor_fact(float_of(call, "x1", "x2"),
                      keep && shape ? reduce_shape(*shape, std::vector<std::int64_t>{-1}, *keep) : std::nullopt)};
}

// ---- Backward

// grad · mask · scale, a float.
Facts dropout_backward(const Call& call) {
  const TensorFact& grad = tensor_of(call, "grad_output");
  return {tensor_fact(as_float(grad.dtype), grad.shape)};
}

Facts softmax_backward(const Call& call) {
  return {tensor_fact(call.dtype("input_dtype"), tensor_of(call, "grad_output").shape)};
}

// ---- Conditions

// ONNX's losses of classes are functions, whose Reshape finds out a size beside the batch's: ONNX Runtime fails for a batch of 0.
Verdict has_a_batch(const Call& call) {
  const auto& shape = self_of(call).shape;
  bool has = true;
  for (std::size_t i = 0; shape && i < shape->size(); ++i)
    has &= shape->size() == 1 || i == 1 || provably_at_least_if_empty((*shape)[i], 1);
  return {.truth = has ? Truth::yes : Truth::no, .message = has ? "" : "the batch may be empty"};
}

}  // namespace

void register_loss(Registry& registry) {
  for (const char* op : {"aten::mse_loss", "aten::smooth_l1_loss"}) registry.facts(op, between);
  registry.facts("aten::kl_div", kl_div);
  registry.facts("aten::l1_loss", l1);
  for (const char* op : {"aten::huber_loss", "aten::soft_margin_loss"}) registry.facts(op, of_floating_self);
  registry.facts("aten::hinge_embedding_loss", hinge);
  registry.facts("aten::poisson_nll_loss", poisson);
  registry.facts("aten::margin_ranking_loss", margin_ranking);
  registry.facts("aten::binary_cross_entropy", of_self);
  registry.facts("aten::binary_cross_entropy_with_logits", with_logits);
  for (const char* op : {"aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd", "aten::nll_loss_forward",
                         "aten::nll_loss2d_forward", "aten::cross_entropy_loss"})
    registry.facts(op, by_class);
  for (const char* op :
       {"torch_nn::_linear_cross_entropy_batch_chunked", "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction"})
    registry.facts(op, linear_entropy);
  registry.facts("aten::multi_margin_loss", multi_margin);
  registry.facts("aten::multilabel_margin_loss", by_row);
  registry.facts("aten::cosine_embedding_loss", cosine_embedding);
  registry.facts("aten::triplet_margin_loss", triplet);
  registry.facts("aten::ctc_loss", ctc);
  registry.facts("aten::cosine_similarity", cosine_similarity);
  registry.facts("aten::pairwise_distance", pairwise_distance);
  registry.facts("aten::max_pool2d_with_indices_backward", like_self);
  registry.facts("aten::native_dropout_backward", dropout_backward);
  registry.facts("aten::_softmax_backward_data", softmax_backward);
  registry.condition("has_a_batch", has_a_batch);
}

}  // namespace compatcheck::symbolic
