#include "handlers/loop.h"

#include <limits>

#include "handlers/elementary.h"

namespace compatcheck::handlers {
namespace {

using Holds = std::function<Value(const Value& iteration, const Values& states)>;
using IterationStep = std::function<Values(const Value& iteration, const Values& states)>;

Values loop(Emission& e, const Value& count, const Value& begins, const Values& states, const Holds& holds,
            const IterationStep& step) {
  const auto body = e.build.begin_body();
  const std::vector<onnx::Dimension> single;
  const Value iteration = e.build.body_input(DType::i64, false, single);
  e.build.body_input(DType::boolean, false, single);
  Values before;
  std::vector<DType> dtypes;
  for (const Value& state : states) {
    before.push_back(e.build.body_input(state.dtype));
    dtypes.push_back(state.dtype);
  }
  Values after = step(iteration, before);
  const Value goes_on = holds ? holds(add(e, iteration, e.build.integer(1)), after) : e.build.again(e.scalar(DType::boolean, 1));
  Values leaving{goes_on};
  for (const Value& value : after) leaving.push_back(e.build.again(value));  // a value must leave the body under one name only
  e.build.end_body(leaving);
  Values inputs{count, begins};
  inputs.insert(inputs.end(), states.begin(), states.end());
  return e.build.control("Loop", inputs, {{"body", body}}, dtypes, std::vector<bool>(dtypes.size(), false));
}

}  // namespace

Value any(Emission& e, const Value& condition) {
  const Value flat = e.build.reshape(e.cast(condition, DType::f32), {-1});
  const Value zero = e.build.constant(onnx::make_tensor(DType::f32, {1}, Doubles{0}));
  return greater(e, e.node("ReduceMax", {e.build.concat({flat, zero}, 0)}, {{"axes", Ints{0}}, {"keepdims", 0}}),
                 e.scalar(DType::f32, 0));
}

Values while_any(Emission& e, const Values& states, const Holds& holds, const IterationStep& step) {
  const Holds any_holds = [&](const Value& iteration, const Values& now) { return any(e, holds(iteration, now)); };
  const Value begins = any_holds(e.build.integer(0), states);
  return loop(e, e.build.integer(std::numeric_limits<std::int64_t>::max()), begins, states, any_holds, step);
}

Value empty_sequence(Emission& e, DType dtype) { return e.node("SequenceEmpty", {}, {{"dtype", onnx::data_type(dtype)}}, dtype); }

Value with_more(Emission& e, const Value& sequence, const Value& count,
                const std::function<Value(const Value& iteration)>& member) {
  const auto body = e.build.begin_body();
  const std::vector<onnx::Dimension> single;
  const Value iteration = e.build.body_input(DType::i64, false, single),
              go_on = e.build.body_input(DType::boolean, false, single);
  const Value before = e.build.body_input(sequence.dtype, true);
  e.build.end_body({e.build.again(go_on), e.node("SequenceInsert", {before, member(iteration)})});
  return e.build.control("Loop", {count, {}, sequence}, {{"body", body}}, {sequence.dtype}, {true}).front();
}

Values repeat(Emission& e, const Value& count, const Values& states, const IterationStep& step) {
  return loop(e, count, e.scalar(DType::boolean, 1), states, {}, step);
}

}  // namespace compatcheck::handlers
