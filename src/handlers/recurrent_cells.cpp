// One step of a recurrent layer, and a layer as a Loop of them.
#include <limits>

#include "handlers/families.h"
#include "handlers/recurrent.h"

namespace compatcheck::handlers {
namespace {

Value linear(Emission& e, const Value& input, const Value& weight, const Value& bias) {
  const Value product = e.node("MatMul", {input, e.build.transpose(weight, {1, 0})});
  return bias ? e.node("Add", {product, bias}) : product;
}

Values gates_of(Emission& e, const Value& all, std::size_t count, std::int64_t width, std::int64_t axis) {
  return e.nodes("Split", {all}, count, {{"axis", axis}, {"split", Ints(count, width)}});
}

struct State { Value hidden, cell; };

// `gates`: i f g o, before their activations.
State lstm_step(Emission& e, const Value& gates, const Value& cell, std::int64_t width, std::int64_t axis) {
  const Values parts = gates_of(e, gates, 4, width, axis);
  const auto sigmoid = [&](std::size_t i) { return e.node("Sigmoid", {parts[i]}); };
  const Value added = e.node("Mul", {sigmoid(0), e.node("Tanh", {parts[2]})});
  const Value next = e.node("Add", {e.node("Mul", {sigmoid(1), cell}), added});
  return {e.node("Mul", {sigmoid(3), e.node("Tanh", {next})}), next};
}

struct Cell {
  Value from_input, from_hidden, hidden;
  std::int64_t width = 0, axis = 1;
};

Cell cell_of(Emission& e, const Value& hidden, std::int64_t gates) {
  return {linear(e, e.tensor("input"), e.tensor("w_ih"), e.optional_tensor("b_ih")), linear(e, hidden, e.tensor("w_hh"), e.optional_tensor("b_hh")), hidden,
          e.known_size("w_hh", 0) / gates, e.rank("input") - 1};
}

void lstm_cell(Emission& e) {
  const Values states = e.tensors("hx");
  const Cell cell = cell_of(e, states.at(0), 4);
  const State next = lstm_step(e, e.node("Add", {cell.from_input, cell.from_hidden}), states.at(1), cell.width, cell.axis);
  e.give(0, next.hidden);
  e.give(1, next.cell);
}

void gru_cell(Emission& e) {
  const Cell cell = cell_of(e, e.tensor("hx"), 3);
  const Values input = gates_of(e, cell.from_input, 3, cell.width, cell.axis), hidden = gates_of(e, cell.from_hidden, 3, cell.width, cell.axis);
  const auto gate = [&](std::size_t i) { return e.node("Sigmoid", {e.node("Add", {input[i], hidden[i]})}); };
  const Value proposed = e.node("Tanh", {e.node("Add", {input[2], e.node("Mul", {gate(0), hidden[2]})})});
  e.give(e.node("Add", {proposed, e.node("Mul", {gate(1), e.node("Sub", {cell.hidden, proposed})})}));
}

template <bool relu> void rnn_cell(Emission& e) {
  const Cell cell = cell_of(e, e.tensor("hx"), 1);
  e.give(e.node(relu ? "Relu" : "Tanh", {e.node("Add", {cell.from_input, cell.from_hidden})}));
}

}  // namespace

ProjectedResult projected_layer(Emission& e, const ProjectedLayer& layer) {
  Value inputs = linear(e, layer.steps, layer.input_weight, layer.input_bias);   // of all steps at once
  if (layer.hidden_bias) inputs = e.node("Add", {inputs, layer.hidden_bias});
  const auto reversed = [&](const Value& value) {
    return e.build.slice(value, {-1}, {std::numeric_limits<std::int64_t>::min() + 1}, {0}, {-1});
  };
  if (layer.reversed) inputs = reversed(inputs);
  const Value count = e.build.squeeze(e.build.gather(e.node("Shape", {layer.steps}), e.integers({0}), 0), {0});
  const Value hidden_weight = e.build.transpose(layer.hidden_weight, {1, 0}), projection = e.build.transpose(layer.projection, {1, 0});
  const auto body = e.build.begin_body();
  const Value step = e.build.body_input(DType::i64), go_on = e.build.body_input(DType::boolean);
  const Value hidden = e.build.body_input(inputs.dtype), cell = e.build.body_input(inputs.dtype);
  const Value gates = e.node("Add", {e.build.gather(inputs, step, 0), e.node("MatMul", {hidden, hidden_weight})});
  const State next = lstm_step(e, gates, cell, layer.width, 1);
  const Value projected = e.node("MatMul", {next.hidden, projection});
  e.build.end_body({e.node("Identity", {go_on}), projected, next.cell, e.node("Identity", {projected})});
  const DType dtype = inputs.dtype;
  const Values made = e.build.control("Loop", {count, {}, layer.hidden, layer.cell}, {{"body", body}}, {dtype, dtype, dtype}, {false, false, false});
  return {layer.reversed ? reversed(made[2]) : made[2], made[0], made[1]};
}

void register_recurrent_cells(Registry& registry) {
  registry.handler("aten::lstm_cell", lstm_cell);
  registry.handler("aten::gru_cell", gru_cell);
  registry.handler("aten::rnn_tanh_cell", rnn_cell<false>);
  registry.handler("aten::rnn_relu_cell", rnn_cell<true>);
}

}  // namespace compatcheck::handlers
