// LSTM, GRU and RNN, on padded and on packed sequences.
#include "handlers/recurrent.h"

#include "handlers/families.h"
#include "handlers/recurrent_packed.h"

namespace compatcheck::handlers {
namespace {

struct Kind {
  const char* op;
  Ints order;  // ONNX's gates as numbers of PyTorch's
  Arguments attributes;
  std::vector<std::string> activations;  // activations of one direction
};

const Kind lstm{"LSTM", {0, 3, 1, 2}, {}, {}};                       // i f g o → i o f c
const Kind gru{"GRU", {1, 0, 2}, {{"linear_before_reset", 1}}, {}};  // r z n → z r h
const Kind rnn_tanh{"RNN", {0}, {}, {}};
const Kind rnn_relu{"RNN", {0}, {}, {"Relu"}};

// (directions, gates · hidden, …) with the gates in ONNX's order; of biases, twice.
Value reordered(Emission& e, const Value& stacked, const Kind& kind, std::int64_t hidden, std::int64_t times) {
  if (kind.order.size() == 1) return stacked;
  Ints rows;
  const auto gates = static_cast<std::int64_t>(kind.order.size());
  for (std::int64_t copy = 0; copy < times; ++copy)
    for (const std::int64_t gate : kind.order)
      for (std::int64_t i = 0; i < hidden; ++i) rows.push_back((copy * gates + gate) * hidden + i);
  return e.build.gather(stacked, e.integers(rows), 1);
}

struct Layers {
  Values params;
  std::int64_t per_direction = 0, directions = 1, count = 1, hidden = 0;
  bool biases = true, projected = false;

  // A parameter of each direction of a layer.
  Values of(std::int64_t layer, std::int64_t which) const {
    Values made;
    for (std::int64_t d = 0; d < directions; ++d)
      made.push_back(params[static_cast<std::size_t>((layer * directions + d) * per_direction + which)]);
    return made;
  }
};

Value stacked(Emission& e, Values of_directions) {
  for (Value& value : of_directions) value = e.build.unsqueeze(value, {0});
  return e.build.concat(of_directions, 0);
}

Value biases(Emission& e, const Layers& layers, std::int64_t layer) {
  Values made = layers.of(layer, 2);
  const Values hidden = layers.of(layer, 3);
  for (std::size_t d = 0; d < made.size(); ++d) made[d] = e.build.concat({made[d], hidden[d]}, 0);
  return stacked(e, made);
}

Layers layers_of(Emission& e) {
  Layers layers{.params = e.tensors("params")};
  layers.biases = e.boolean("has_biases");
  layers.directions = e.boolean("bidirectional") ? 2 : 1;
  layers.count = e.integer("num_layers");
  if (layers.count < 1) throw Refusal{"num_layers must be at least 1, but is " + std::to_string(layers.count)};
  const auto per = static_cast<std::int64_t>(layers.params.size()) / (layers.count * layers.directions);
  layers.per_direction = per;
  layers.projected = per == (layers.biases ? 5 : 3);
  const auto facts = e.call.list("params");
  const auto* weight = facts && facts->size() > 1 ? (*facts)[1]->tensor() : nullptr;  // (gates · hidden, hidden or projection)
  const auto rows = weight && weight->shape && weight->shape->size() == 2 ? (*weight->shape)[0].number() : std::nullopt;
  if (!rows) e.want("params", "the sizes");
  layers.hidden = *rows;
  return layers;
}

// One layer's slice of (layers · directions, batch, …).
Value states_of(Emission& e, const Value& all, const Layers& layers, std::int64_t layer) {
  if (layers.count == 1) return all;
  return e.build.slice(all, {layer * layers.directions}, {(layer + 1) * layers.directions}, {0});
}

struct Steps {
  Value steps;    // (time, batch, features)
  Value lengths;  // i32; absent: all are whole
};

struct Result {
  Value steps;
  Values last;  // (directions, batch, features): hidden, and the cell of an LSTM
};

Result one_layer(Emission& e, const Kind& kind, const Layers& layers, std::int64_t layer, const Steps& sequence,
                 const Values& states) {
  Values inputs{sequence.steps, reordered(e, stacked(e, layers.of(layer, 0)), kind, layers.hidden, 1),
                reordered(e, stacked(e, layers.of(layer, 1)), kind, layers.hidden, 1),
                layers.biases ? reordered(e, biases(e, layers, layer), kind, layers.hidden, 2) : Value{}, sequence.lengths};
  inputs.insert(inputs.end(), states.begin(), states.end());
  Arguments attributes = kind.attributes;
  attributes.push_back({"hidden_size", layers.hidden});
  attributes.push_back({"direction", layers.directions == 2 ? "bidirectional" : "forward"});
  if (!kind.activations.empty()) {
    std::vector<std::string> all;
    for (std::int64_t d = 0; d < layers.directions; ++d) all.insert(all.end(), kind.activations.begin(), kind.activations.end());
    attributes.push_back({"activations", all});
  }
  const Values made = e.nodes(kind.op, inputs, states.size() + 1, attributes);
  // (time, directions, batch, hidden) → (time, batch, directions · hidden)
  const Value steps = layers.directions == 1
                          ? e.build.squeeze(made[0], {1})
                          : e.build.reshape(e.build.transpose(made[0], {0, 2, 1, 3}), {0, 0, 2 * layers.hidden});
  return {steps, {made.begin() + 1, made.end()}};
}

// Step by step: an LSTM with a projection, which ONNX's has no place for, and f64, which the runtime's layers don't take.
Result written_out_layer(Emission& e, const Kind& kind, const Layers& layers, std::int64_t layer, const Value& steps,
                         const Values& states) {
  Values of_directions;
  std::vector<Values> last(states.size());
  for (std::int64_t d = 0; d < layers.directions; ++d) {
    const auto parameter = [&](std::int64_t which) { return layers.of(layer, which)[static_cast<std::size_t>(d)]; };
    const auto weight = [&](std::int64_t which) { return e.build.transpose(parameter(which), {1, 0}); };
    const auto linear = [&](const Value& input, const Value& by, std::int64_t bias) {
      const Value product = e.node("MatMul", {input, by});
      return layers.biases ? e.node("Add", {product, parameter(bias)}) : product;
    };
    Values own;
    for (const Value& state : states)
      own.push_back(e.build.squeeze(layers.directions == 1 ? state : e.build.slice(state, {d}, {d + 1}, {0}), {0}));
    const Value hidden_weight = weight(1), projection = layers.projected ? weight(layers.per_direction - 1) : Value{};
    const Looped made = loop_over(e, linear(steps, weight(0), 2), own, d == 1, [&](const Value& input, const Values& before) {
      const Value hidden = linear(before[0], hidden_weight, 3);
      if (&kind == &gru) return Values{gru_step(e, input, hidden, before[0], layers.hidden, 1)};
      const Value sum = e.node("Add", {input, hidden});
      if (&kind != &lstm) return Values{e.node(&kind == &rnn_relu ? "Relu" : "Tanh", {sum})};
      const State next = lstm_step(e, sum, before[1], layers.hidden, 1);
      return Values{projection ? e.node("MatMul", {next.hidden, projection}) : next.hidden, next.cell};
    });
    of_directions.push_back(made.steps);
    for (std::size_t i = 0; i < states.size(); ++i) last[i].push_back(e.build.unsqueeze(made.states[i], {0}));
  }
  Result result{e.build.concat(of_directions, 2), {}};
  for (const Values& state : last) result.last.push_back(e.build.concat(state, 0));
  return result;
}

Result all_layers(Emission& e, const Kind& kind, Steps sequence) {
  Layers layers = layers_of(e);
  layers.hidden /= static_cast<std::int64_t>(kind.order.size());
  Values states = e.operand("hx").list() ? e.tensors("hx") : Values{e.tensor("hx")};
  Result result;
  std::vector<Values> last(states.size());
  for (std::int64_t layer = 0; layer < layers.count; ++layer) {
    Values own;
    for (const Value& state : states) own.push_back(states_of(e, state, layers, layer));
    const bool written_out = layers.projected || sequence.steps.dtype == DType::f64;
    if (written_out && sequence.lengths)
      throw Refusal{"projections (proj_size) and double precision have no ONNX form on packed sequences",
                    "use proj_size=0 and float32, or pad the sequences"};
    result = written_out ? written_out_layer(e, kind, layers, layer, sequence.steps, own)
                         : one_layer(e, kind, layers, layer, sequence, own);
    sequence.steps = result.steps;
    for (std::size_t i = 0; i < last.size(); ++i) last[i].push_back(result.last[i]);
  }
  for (std::size_t i = 0; i < last.size(); ++i) result.last[i] = e.build.concat(last[i], 0);
  return result;
}

void recurrent(Emission& e, const Kind& kind) {
  const bool packed = e.call.has("data");
  if (!packed) {
    Value input = e.tensor("input");
    const bool batch_first = e.boolean("batch_first");
    if (batch_first) input = e.build.transpose(input, {1, 0, 2});
    const Result result = all_layers(e, kind, {input, {}});
    e.give(0, batch_first ? e.build.transpose(result.steps, {1, 0, 2}) : result.steps);
    for (std::size_t i = 0; i < result.last.size(); ++i) e.give(i + 1, result.last[i]);
    return;
  }
  const Padded padded = padded_of(e, e.tensor("data"), e.tensor("batch_sizes"), 2);
  const Result result = all_layers(e, kind, {padded.steps, e.cast(padded.lengths, DType::i32)});
  e.give(0, packed_of(e, {result.steps, padded.lengths, true}, 3));
  for (std::size_t i = 0; i < result.last.size(); ++i) e.give(i + 1, result.last[i]);
}

}  // namespace

void register_recurrent(Registry& registry) {
  registry.handler("aten::lstm", [](Emission& e) { recurrent(e, lstm); });
  registry.handler("aten::gru", [](Emission& e) { recurrent(e, gru); });
  registry.handler("aten::rnn_tanh", [](Emission& e) { recurrent(e, e.call.op() == "aten::rnn_relu" ? rnn_relu : rnn_tanh); });
}

}  // namespace compatcheck::handlers
