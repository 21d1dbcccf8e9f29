// Single steps of recurrent layers with quantized weights. The biases stand in the packed weights.
#include "handlers/families.h"
#include "handlers/quantized.h"
#include "handlers/recurrent.h"

namespace compatcheck::handlers {
namespace {

struct CellGates {
  Value from_input, from_hidden;
  std::int64_t width = 0;
};

CellGates cell_gates(Emission& e, const Value& hidden, std::int64_t gates) {
  const auto from = [&](const Value& value, std::string_view weight) {
    return linear_on_rounded(e, value, packed_linear(e, e.operand(weight)), true);
  };
  const Operand weight = packed_part(e, e.operand("w_hh"), "weight");
  const auto* steps = std::get_if<Quantized>(&weight.value);
  const onnx::TensorData* data = steps ? e.constant_of(steps->integers) : nullptr;
  if (!data || data->dims.size() != 2) throw Refusal{"the width of a quantized recurrent layer isn't known"};
  const std::int64_t width = data->dims[0] / gates;  // read first: adding a constant moves the data
  return {from(e.tensor("input", DType::f32), "w_ih"), from(hidden, "w_hh"), width};
}

void quantized_lstm_cell(Emission& e) {
  const Values states = e.tensors("hx");
  const CellGates gates = cell_gates(e, states.at(0), 4);
  const State next = lstm_step(e, e.node("Add", {gates.from_hidden, gates.from_input}), states.at(1), gates.width, 1);
  e.give(0, next.hidden);
  e.give(1, next.cell);
}

void quantized_gru_cell(Emission& e) {
  const Value before = e.tensor("hx", DType::f32);
  const CellGates gates = cell_gates(e, before, 3);
  e.give(gru_step(e, gates.from_input, gates.from_hidden, before, gates.width, 1));
}

template <bool relu>
void quantized_rnn_cell(Emission& e) {
  const CellGates gates = cell_gates(e, e.tensor("hx", DType::f32), 1);
  e.give(e.node(relu ? "Relu" : "Tanh", {e.node("Add", {gates.from_hidden, gates.from_input})}));
}

}  // namespace

void register_quantized_cells(Registry& registry) {
  registry.handler("quantized::quantized_lstm_cell_dynamic", quantized_lstm_cell);
  registry.handler("quantized::quantized_gru_cell_dynamic", quantized_gru_cell);
  registry.handler("quantized::quantized_rnn_tanh_cell_dynamic", quantized_rnn_cell<false>);
  registry.handler("quantized::quantized_rnn_relu_cell_dynamic", quantized_rnn_cell<true>);
}

}  // namespace compatcheck::handlers
