// Softmax along one dimension.
#include "handlers/activation_softmax.h"

#include <numeric>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// Before opset 13 everything from the axis on was normalized at once: the dimension is moved last.
Value normalized(Emission& e, const char* op, Value x, std::int64_t rank, std::int64_t axis) {
  if (rank == 0) return e.build.reshape(e.node(op, {e.build.reshape(x, {1})}, {{"axis", 0}}), {});
  if (e.at_least(13) || axis == rank - 1) return e.node(op, {x}, {{"axis", axis}});
  Ints swapped(static_cast<std::size_t>(rank));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
  return e.build.transpose(e.node(op, {e.build.transpose(x, swapped)}, {{"axis", rank - 1}}), swapped);
}

void softmax(Emission& e) { e.give(normalized(e, "Softmax", e.tensor("self", e.output_dtype()), e.rank("self"), e.axis("dim"))); }

void emit_log_softmax(Emission& e) { e.give(log_softmax(e, e.tensor("self", e.output_dtype()), e.rank("self"), e.axis("dim"))); }

// 0 where everything is -inf.
void safe_softmax(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  const std::int64_t rank = e.rank("self"), axis = e.axis("dim");
  const Value made = normalized(e, "Softmax", x, rank, axis);
  const Value most = rank == 0 ? x : e.node("ReduceMax", {x}, {{"axes", Ints{axis}}, {"keepdims", 1}});
  e.give(where(e, less(e, most, e.scalar(x.dtype, -largest(x.dtype))), e.scalar(x.dtype, 0), made));
}

}  // namespace

// ONNX Runtime's LogSoftmax of doubles loses what infinities make of it.
Value log_softmax(Emission& e, const Value& x, std::int64_t rank, std::int64_t axis) {
  if (x.dtype != DType::f64 || rank == 0) return normalized(e, "LogSoftmax", x, rank, axis);
  const auto reduced = [&](const char* op, const Value& value) {
    return e.node(op, {value}, {{"axes", Ints{axis}}, {"keepdims", 1}});
  };
  const Value below = subtract(e, x, reduced("ReduceMax", x));
  return subtract(e, below, e.node("Log", {reduced("ReduceSum", e.node("Exp", {below}))}));
}

void register_activation_softmax(Registry& registry) {
  for (const char* op : {"aten::softmax", "aten::_softmax"}) registry.handler(op, softmax);
  for (const char* op : {"aten::log_softmax", "aten::_log_softmax"}) registry.handler(op, emit_log_softmax);
  registry.handler("aten::_safe_softmax", safe_softmax);
}

}  // namespace compatcheck::handlers
