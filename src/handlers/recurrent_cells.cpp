// One step of a recurrent layer, and a layer as a Loop of them.
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/recurrent.h"

namespace compatcheck::handlers {
namespace {

Values gates_of(Emission& e, const Value& all, std::size_t count, std::int64_t width, std::int64_t axis) {
  return e.nodes("Split", {all}, count, {{"axis", axis}, {"split", Ints(count, width)}});
}

}  // namespace

State lstm_step(Emission& e, const Value& gates, const Value& cell, std::int64_t width, std::int64_t axis) {
  const Values parts = gates_of(e, gates, 4, width, axis);
  const auto sigmoid = [&](std::size_t i) { return e.node("Sigmoid", {parts[i]}); };
  const Value added = e.node("Mul", {sigmoid(0), e.node("Tanh", {parts[2]})});
  const Value next = e.node("Add", {e.node("Mul", {sigmoid(1), cell}), added});
  return {e.node("Mul", {sigmoid(3), e.node("Tanh", {next})}), next};
}

Value gru_step(Emission& e, const Value& from_input, const Value& from_hidden, const Value& before, std::int64_t width,
               std::int64_t axis) {
  const Values input = gates_of(e, from_input, 3, width, axis), hidden = gates_of(e, from_hidden, 3, width, axis);
  const auto gate = [&](std::size_t i) { return e.node("Sigmoid", {e.node("Add", {input[i], hidden[i]})}); };
  const Value proposed = e.node("Tanh", {e.node("Add", {input[2], e.node("Mul", {gate(0), hidden[2]})})});
  return e.node("Add", {proposed, e.node("Mul", {gate(1), e.node("Sub", {before, proposed})})});
}

namespace {

struct Cell {
  Value from_input, from_hidden, hidden;
  std::int64_t width = 0, axis = 1;
};

Cell cell_of(Emission& e, const Value& hidden, std::int64_t gates) {
  return {linear_layer(e, e.tensor("input"), e.tensor("w_ih"), e.optional_tensor("b_ih")),
          linear_layer(e, hidden, e.tensor("w_hh"), e.optional_tensor("b_hh")), hidden, e.known_size("w_hh", 0) / gates,
          e.rank("input") - 1};
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
  e.give(gru_step(e, cell.from_input, cell.from_hidden, cell.hidden, cell.width, cell.axis));
}

template <bool relu>
void rnn_cell(Emission& e) {
  const Cell cell = cell_of(e, e.tensor("hx"), 1);
  e.give(e.node(relu ? "Relu" : "Tanh", {e.node("Add", {cell.from_input, cell.from_hidden})}));
}

}  // namespace

Looped loop_over(Emission& e, const Value& inputs, const Values& states, bool reversed,
                 const std::function<Values(const Value&, const Values&)>& step) {
  const auto backwards = [&](const Value& value) {
    return e.build.slice(value, {-1}, {std::numeric_limits<std::int64_t>::min() + 1}, {0}, {-1});
  };
  const Value steps = reversed ? backwards(inputs) : inputs;
  const Value count = e.build.squeeze(e.build.gather(e.node("Shape", {inputs}), e.integers({0}), 0), {0});
  const auto body = e.build.begin_body();
  const std::vector<onnx::Dimension> single;
  const Value number = e.build.body_input(DType::i64, false, single), go_on = e.build.body_input(DType::boolean, false, single);
  Values before;
  for (const Value& state : states) before.push_back(e.build.body_input(state.dtype));
  const Values after = step(e.build.gather(steps, number, 0), before);
  Values leaving{e.build.again(go_on)};
  leaving.insert(leaving.end(), after.begin(), after.end());
  leaving.push_back(e.build.again(after.front()));
  e.build.end_body(leaving);
  Values given{count, {}};
  given.insert(given.end(), states.begin(), states.end());
  const std::size_t outputs = states.size() + 1;
  const Values made = e.build.control("Loop", given, {{"body", body}}, std::vector<DType>(outputs, inputs.dtype),
                                      std::vector<bool>(outputs, false));
  return {reversed ? backwards(made.back()) : made.back(), {made.begin(), made.end() - 1}};
}

void register_recurrent_cells(Registry& registry) {
  registry.handler("aten::lstm_cell", lstm_cell);
  registry.handler("aten::gru_cell", gru_cell);
  registry.handler("aten::rnn_tanh_cell", rnn_cell<false>);
  registry.handler("aten::rnn_relu_cell", rnn_cell<true>);
}

}  // namespace compatcheck::handlers
