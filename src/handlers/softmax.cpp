// Softmax along one dimension.
#include <numeric>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// Before opset 13 everything from the axis on was normalised at once: the dimension is moved last.
Value normalized(Emission& e, const char* op, Value x, std::int64_t rank, std::int64_t axis) {
  if (rank == 0) return e.build.reshape(e.node(op, {e.build.reshape(x, {1})}, {{"axis", 0}}), {});
  if (e.at_least(13) || axis == rank - 1) return e.node(op, {x}, {{"axis", axis}});
  Ints swapped(static_cast<std::size_t>(rank));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
  return e.build.transpose(e.node(op, {e.build.transpose(x, swapped)}, {{"axis", rank - 1}}), swapped);
}

void emit(Emission& e, const char* op) {
  const Value x = e.tensor("self", e.output_dtype());
  e.give(normalized(e, op, x, e.rank("self"), e.axis("dim")));
}

void softmax(Emission& e) { emit(e, "Softmax"); }

// ONNX Runtime's LogSoftmax of doubles loses what infinities make of it.
void log_softmax(Emission& e) {
  const DType dtype = e.output_dtype();
  if (dtype != DType::f64 || e.rank("self") == 0) return emit(e, "LogSoftmax");
  const Value x = e.tensor("self", dtype);
  const Ints axes{e.axis("dim")};
  const auto reduced = [&](const char* op, const Value& value) { return e.node(op, {value}, {{"axes", axes}, {"keepdims", 1}}); };
  const Value below = subtract(e, x, reduced("ReduceMax", x));
  e.give(subtract(e, below, e.node("Log", {reduced("ReduceSum", e.node("Exp", {below}))})));
}

// 0 where everything is -inf.
void safe_softmax(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  const std::int64_t rank = e.rank("self"), axis = e.axis("dim");
  const Value made = normalized(e, "Softmax", x, rank, axis);
  const Value most = rank == 0 ? x : e.node("ReduceMax", {x}, {{"axes", Ints{axis}}, {"keepdims", 1}});
  e.give(where(e, less(e, most, e.scalar(x.dtype, -largest(x.dtype))), e.scalar(x.dtype, 0), made));
}

}  // namespace

void register_softmax(Registry& registry) {
  for (const char* op : {"aten::softmax", "aten::_softmax"}) registry.handler(op, softmax);
  for (const char* op : {"aten::log_softmax", "aten::_log_softmax"}) registry.handler(op, log_softmax);
  registry.handler("aten::_safe_softmax", safe_softmax);
}

}  // namespace compatcheck::handlers
