// LSTM and GRU with quantized weights: the input and the state of each step are rounded as PyTorch rounds them.
#include "handlers/families.h"
#include "handlers/quantized.h"
#include "handlers/recurrent.h"

namespace compatcheck::handlers {
namespace {

struct QuantizedCell {
  PackedLinear input, hidden;
  bool reduce_range = false, half = false;

  Value of(Emission& e, const Value& value, const PackedLinear& layer) const {
    return half ? linear_on_floats(e, value, layer) : linear_on_rounded(e, value, layer, reduce_range);
  }
};

QuantizedCell quantized_cell(Emission& e, const Operand& params) {
  const Operand packed = packed_part(e, params, "packed"), type = packed_part(e, params, "type");
  const List* layers = packed.list();
  const auto* known = std::get_if<Known>(&type.value);
  const auto* word = known ? known->value.get<std::string>() : nullptr;
  if (!layers || layers->items.size() != 2 || !word || (*word != "quantized_dynamic" && *word != "quantized_fp16"))
    throw Refusal{"these parameters of a quantized recurrent layer have no ONNX form",
                  "quantize with torch.ao.quantization.quantize_dynamic"};
  QuantizedCell cell{packed_linear(e, layers->items[0]), packed_linear(e, layers->items[1])};
  cell.half = *word == "quantized_fp16";
  if (!cell.half)
    if (const Ints longs = packed_ints(e, params, "longs"); !longs.empty()) cell.reduce_range = longs.front() != 0;
  return cell;
}

struct QuantizedLayers {
  std::vector<QuantizedCell> cells;  // ordered by layer, then direction
  std::int64_t directions = 1, gates = 4;
};

QuantizedLayers quantized_layers(Emission& e, std::int64_t gates) {
  const List* params = e.operand("params").list();
  if (!params) throw Refusal{"the parameters of the layers aren't known one by one"};
  QuantizedLayers layers{.cells = {}, .directions = e.boolean("bidirectional") ? 2 : 1, .gates = gates};
  for (const Operand& item : params->items) layers.cells.push_back(quantized_cell(e, item));
  return layers;
}

std::int64_t width_of(Emission& e, const QuantizedCell& cell, std::int64_t gates) {
  const onnx::TensorData* bias = cell.hidden.bias ? e.constant_of(cell.hidden.bias) : nullptr;
  if (!bias || bias->dims.size() != 1) throw Refusal{"the width of a quantized recurrent layer isn't known"};
  return bias->dims[0] / gates;
}

Looped one_direction(Emission& e, const QuantizedLayers& layers, const QuantizedCell& cell, const Value& steps,
                     const Values& states, bool reversed) {
  const std::int64_t width = width_of(e, cell, layers.gates);
  const Value inputs = cell.of(e, steps, cell.input);  // the whole sequence has one range
  return loop_over(e, inputs, states, reversed, [&](const Value& input, const Values& before) {
    const Value hidden = cell.of(e, before[0], cell.hidden);
    if (layers.gates == 3) return Values{gru_step(e, input, hidden, before[0], width, 1)};
    const State next = lstm_step(e, e.node("Add", {hidden, input}), before[1], width, 1);
    return Values{next.hidden, next.cell};
  });
}

void quantized_recurrent(Emission& e, std::int64_t gates) {
  if (e.call.has("data"))
    throw Refusal{"a quantized recurrent layer on packed sequences has no ONNX form yet",
                  "pad the sequences, or leave the layer out of quantization"};
  const QuantizedLayers layers = quantized_layers(e, gates);
  const bool batch_first = e.boolean("batch_first");
  Value steps = e.tensor("input", DType::f32);
  if (batch_first) steps = e.build.transpose(steps, {1, 0, 2});
  const Values states = e.operand("hx").list() ? e.tensors("hx") : Values{e.tensor("hx")};
  std::vector<Values> last(states.size());
  for (std::int64_t layer = 0; layer < e.integer("num_layers"); ++layer) {
    Values of_directions;
    for (std::int64_t d = 0; d < layers.directions; ++d) {
      const std::int64_t at = layer * layers.directions + d;
      Values own;
      for (const Value& state : states) own.push_back(e.build.squeeze(e.build.slice(state, {at}, {at + 1}, {0}), {0}));
      const Looped made = one_direction(e, layers, layers.cells.at(static_cast<std::size_t>(at)), steps, own, d == 1);
      of_directions.push_back(made.steps);
      for (std::size_t i = 0; i < states.size(); ++i) last[i].push_back(e.build.unsqueeze(made.states[i], {0}));
    }
    steps = e.build.concat(of_directions, 2);
  }
  e.give(0, batch_first ? e.build.transpose(steps, {1, 0, 2}) : steps);
  for (std::size_t i = 0; i < last.size(); ++i) e.give(i + 1, e.build.concat(last[i], 0));
}

}  // namespace

void register_recurrent_quantized(Registry& registry) {
  registry.handler("aten::quantized_lstm", [](Emission& e) { quantized_recurrent(e, 4); });
  registry.handler("aten::quantized_gru", [](Emission& e) { quantized_recurrent(e, 3); });
}

}  // namespace compatcheck::handlers
