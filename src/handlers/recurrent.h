// Recurrent layers that are written out step by step.
#pragma once

#include <functional>

#include "handlers/emission.h"

namespace compatcheck::handlers {

// From gates before their activations, (batch, gates · width) along `axis`: i f g o of an LSTM → hidden and cell.
struct State {
  Value hidden, cell;
};
State lstm_step(Emission& e, const Value& gates, const Value& cell, std::int64_t width, std::int64_t axis);
// r z n of a GRU, from the input and from the hidden state → the hidden state.
Value gru_step(Emission& e, const Value& from_input, const Value& from_hidden, const Value& hidden, std::int64_t width,
               std::int64_t axis);

// One direction of a layer as a Loop. `step` returns the next states for one step of `inputs`, (time, …). The layer's result
// at each step is the first state.
struct Looped {
  Value steps;    // results in order of time
  Values states;  // the last ones
};
Looped loop_over(Emission& e, const Value& inputs, const Values& states, bool reversed,
                 const std::function<Values(const Value& input, const Values& states)>& step);

}  // namespace compatcheck::handlers
