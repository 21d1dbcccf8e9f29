// Recurrent layers, on padded or packed sequences: facts and conditions.
#include <algorithm>

#include "process/spell_count.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"
#include "symbolic/size_demands.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// hx: one tensor, or (hidden, cell).
TensorFact state(const Call& call, std::size_t i) {
  if (const auto* single = call.tensor("hx")) return i == 0 ? *single : TensorFact{};
  const auto states = call.list("hx");
  return states && i < states->size() && (*states)[i]->tensor() ? *(*states)[i]->tensor() : TensorFact{};
}

// The input with its features replaced by those of the hidden state, twice if both directions run.
Fact sequence(const Call& call, std::optional<DType> dtype) {
  const TensorFact &input = tensor_of(call, call.has("data") ? "data" : "input"), hidden = state(call, 0);
  const auto both = call.boolean("bidirectional");
  if (!input.shape || input.shape->empty()) return tensor_fact(dtype, std::nullopt);
  Shape shape = *input.shape;
  const Dim features = hidden.shape && !hidden.shape->empty() ? hidden.shape->back() : Dim::unknown();
  shape.back() = both ? features * Dim(*both ? 2 : 1) : Dim::unknown();
  return tensor_fact(dtype, std::move(shape));
}

std::optional<DType> input_dtype(const Call& call) { return call.dtype_of(call.has("data") ? "data" : "input"); }

// One state for each layer and direction, whatever hx has more.
std::optional<Shape> last_state(const Call& call, std::size_t i) {
  std::optional<Shape> shape = state(call, i).shape;
  const auto both = call.boolean("bidirectional");
  const auto layers = call.dim("num_layers");
  if (shape && !shape->empty()) shape->front() = both && layers ? *layers * Dim(*both ? 2 : 1) : Dim::unknown();
  return shape;
}

// A weight among `params`, where it is a matrix: (gates · hidden, features) or (gates · hidden, hidden).
const Shape* weight_matrix(const Call& call, std::size_t i) {
  const auto weights = call.list("params");
  const auto* weight = weights && i < weights->size() ? (*weights)[i]->tensor() : nullptr;
  return weight && weight->shape && weight->shape->size() == 2 ? &*weight->shape : nullptr;
}

void demand_rank_of(Demands& demands, const TensorFact& tensor, std::size_t least, std::size_t most, const char* what) {
  if (!tensor.shape || (tensor.shape->size() >= least && tensor.shape->size() <= most)) return;
  demands.broken("the rank of " + std::string(what) + " is " + std::to_string(tensor.shape->size()) + ", which doesn't fit");
}

// (layers · directions, batch, hidden), without a batch where the input has none.
void demand_state(Demands& demands, const Call& call, std::size_t i, const TensorFact& input, std::size_t rank) {
  const TensorFact hidden = state(call, i);
  demand_rank_of(demands, hidden, rank, rank, "hx");
  if (!hidden.shape || hidden.shape->size() != rank) return;
  const auto both = call.boolean("bidirectional");
  const auto layers = call.dim("num_layers");
  // libtorch takes more states than there are layers, and doesn't look at the batch.
  if (both && layers) demand(hidden.shape->front(), *layers * Dim(*both ? 2 : 1));
  const auto batch_first = call.has("batch_first") ? call.boolean("batch_first") : std::nullopt;
  if (rank == 3 && batch_first && input.shape && input.shape->size() == 3)
    demand((*hidden.shape)[1], (*input.shape)[*batch_first ? 0 : 1]);
  const Shape* recurrent = weight_matrix(call, 1);
  constexpr std::int64_t gates = 4;  // of an LSTM; no other layer has a second state
  if (recurrent && i == 0) demands.equal(hidden.shape->back(), (*recurrent)[1], "the size of the state");
  if (recurrent && i == 1) demand(hidden.shape->back(), floor_div((*recurrent)[0], gates));
}

void demand_fitting(const Call& call) {
  Demands demands;
  const bool packed = call.has("data");
  const TensorFact& input = tensor_of(call, packed ? "data" : "input");
  demand_rank_of(demands, input, 2, packed ? 2 : 3, packed ? "data" : "input");
  const Shape* weight = weight_matrix(call, 0);
  if (weight && input.shape && !input.shape->empty()) demands.equal(input.shape->back(), (*weight)[1], "the number of features");
  const std::size_t rank = packed ? 3 : input.shape ? input.shape->size() : 0;
  for (std::size_t i = 0; i < 2 && (rank == 2 || rank == 3); ++i) demand_state(demands, call, i, input, rank);
  demands.hold();
}

Facts layers(const Call& call) {
  demand_fitting(call);
  const auto dtype = input_dtype(call);
  Facts facts{sequence(call, dtype)};
  for (std::size_t i = 0; i + 1 < call.node().outputs().size(); ++i) facts.push_back(tensor_fact(dtype, last_state(call, i)));
  return facts;
}

Facts cell(const Call& call) {
  Demands demands;
  const TensorFact& input = tensor_of(call, "input");
  demand_rank_of(demands, input, 1, 2, "input");
  if (input.shape && !input.shape->empty())
    demands.equal(input.shape->back(), size_at(tensor_of(call, "w_ih"), 1), "the number of features");
  for (std::size_t i = 0; i < 2 && input.shape; ++i) {
    const TensorFact hidden = state(call, i);
    demand_rank_of(demands, hidden, input.shape->size(), input.shape->size(), "hx");
    if (!hidden.shape || hidden.shape->empty() || input.shape->size() != hidden.shape->size()) continue;
    demands.equal(hidden.shape->back(), size_at(tensor_of(call, "w_hh"), 1), "the size of the state");
    if (input.shape->size() == 2) demand(hidden.shape->front(), input.shape->front());
  }
  demands.hold();
  const auto dtype = call.dtype_of("input");
  Facts facts;
  for (std::size_t i = 0; i < call.node().outputs().size(); ++i) facts.push_back(tensor_fact(dtype, state(call, i).shape));
  return facts;
}

// (time, batch, …) and lengths → (steps of all sequences, …) and the batch size at each step.
Facts pack_padded(const Call& call) {
  const TensorFact &input = tensor_of(call, "input"), &lengths = tensor_of(call, "lengths");
  Demands demands;
  demands.rank(call, "lengths", 1, 1);
  if (const auto batch_first = call.boolean("batch_first"); batch_first && input.shape) {
    if (input.shape->size() < 2)
      demands.broken("'input' has no dimension of time or batch");
    else
      demands.equal(size_at(lengths, 0), (*input.shape)[*batch_first ? 0 : 1], "the number of lengths");
  }
  demands.hold();
  std::optional<Shape> data;
  if (input.shape && input.shape->size() >= 2) {
    data = Shape(input.shape->begin() + 1, input.shape->end());
    data->front() = Dim::unknown();
  }
  Dim longest = Dim::unknown();
  if (lengths.contents &&
      std::all_of(lengths.contents->begin(), lengths.contents->end(), [](const Dim& length) { return length.is_number(); })) {
    Dim total = 0;
    std::int64_t most = 0;
    for (const Dim& length : *lengths.contents) {
      total = total + length;
      most = std::max(most, *length.number());
    }
    longest = most;
    if (data) data->front() = total;
  }
  return {tensor_fact(input.dtype, std::move(data)), tensor_fact(DType::i64, Shape{longest})};
}

Facts pad_packed(const Call& call) {
  const TensorFact& data = tensor_of(call, "data");
  Demands demands;
  demands.rank(call, "batch_sizes", 1, 1);
  if (data.shape && data.shape->empty()) demands.broken("'data' has no dimensions");
  demands.hold();
  const auto batch_first = call.boolean("batch_first");
  const auto total = call.dim("total_length");
  const Dim batch = Dim::unknown();
  const Dim length = !total                                        ? Dim::unknown()
                     : total->is_number() && *total->number() <= 0 ? size_at(tensor_of(call, "batch_sizes"), 0)
                                                                   : *total;
  std::optional<Shape> shape;
  if (data.shape && !data.shape->empty() && batch_first) {
    shape = *batch_first ? Shape{batch, length} : Shape{length, batch};
    shape->insert(shape->end(), data.shape->begin() + 1, data.shape->end());
  }
  return {tensor_fact(data.dtype, std::move(shape)), tensor_fact(DType::i64, Shape{batch})};
}

// With proj_size each layer and direction has one weight more.
Verdict without_projection(const Call& call) {
  const auto params = call.list("params");
  const auto biases = call.boolean("has_biases"), both = call.boolean("bidirectional");
  const auto layers = call.integer("num_layers");
  if (!params || !biases || !both || !layers) {
    const Fact& fact = call.fact("params");
    return {.truth = Truth::unknown,
            .message = "the weights of " + std::string(call.op()) + " aren't known one by one",
            .wants = fact.wants,
            .blame = fact.blame};
  }
  const Dim expected = Dim(*layers) * Dim((*both ? 2 : 1) * (*biases ? 4 : 2));
  if (expected.number() == static_cast<std::int64_t>(params->size())) return {.truth = Truth::yes};
  return {.truth = Truth::no,
          .message = "the LSTM has " + spell_count(params->size(), "weight") + " where one without proj_size has " +
                     expected.to_string()};
}

}  // namespace

void register_recurrent(Registry& registry) {
  for (const char* op :
       {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu", "aten::quantized_lstm", "aten::quantized_gru"})
    registry.facts(op, layers);
  for (const char* op : {"aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"})
    registry.facts(op, cell);
  registry.facts("aten::_pack_padded_sequence", pack_padded);
  registry.facts("aten::_pad_packed_sequence", pad_packed);
  registry.condition("lstm_without_projection", without_projection);
}

}  // namespace compatcheck::symbolic
