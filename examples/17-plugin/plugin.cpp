// Three handlers: of a custom operator, of an ATen operator that compatcheck doesn't map, and in place of one that it does.
#include <compatcheck/plugin.h>

namespace plugin = compatcheck::plugin;
using plugin::Value;

namespace {

// acme::scaled_swish(Tensor x, float beta): x · sigmoid(beta · x)
void scaled_swish(plugin::Emission& e) {
  const Value x = e.tensor("x"), beta = e.number_value("beta", x.dtype);
  e.give(e.node("Mul", {x, e.node("Sigmoid", {e.node("Mul", {x, beta})})}));
}

Value element(plugin::Emission& e, const Value& matrices, int row, int column, std::int64_t rank) {
  const Value line = e.gather(matrices, e.scalar(plugin::DType::i64, row), rank - 2);
  return e.gather(line, e.scalar(plugin::DType::i64, column), rank - 2);
}

// The inverse of 2×2 matrices, written out; any number of dimensions may stand before them.
void inverse(plugin::Emission& e) {
  const std::int64_t rank = e.rank("A");
  if (e.known_size("A", -1) != 2)
    throw plugin::Refusal{"the plugin inverts 2x2 matrices only", "keep this step out of the model"};
  const Value matrices = e.tensor("A");
  const Value a = element(e, matrices, 0, 0, rank), b = element(e, matrices, 0, 1, rank);
  const Value c = element(e, matrices, 1, 0, rank), d = element(e, matrices, 1, 1, rank);
  const Value determinant = e.node("Sub", {e.node("Mul", {a, d}), e.node("Mul", {b, c})});
  const auto over = [&](const Value& x) { return e.unsqueeze(e.node("Div", {x, determinant}), {rank - 2}); };
  const auto negative = [&](const Value& x) { return e.node("Neg", {x}); };
  const Value first = e.concat({over(d), over(negative(b))}, rank - 2);
  const Value second = e.concat({over(negative(c)), over(a)}, rank - 2);
  e.give(e.concat({e.unsqueeze(first, {rank - 2}), e.unsqueeze(second, {rank - 2})}, rank - 2));
}

// One node that ONNX Runtime has, where ONNX before opset 20 needs several. Of f32, and of the exact form, alone.
void gelu(plugin::Emission& e) {
  if (e.string("approximate") != "none" || e.dtype("self") != plugin::DType::f32)
    throw plugin::Refusal{"com.microsoft::Gelu is exact, and of f32", "leave the plugin out"};
  e.give(e.node("com.microsoft::Gelu", {e.tensor("self")}, {}, plugin::DType::f32));  // no schema of ONNX's tells its dtype
}

void enter(plugin::Registry& registry) {
  registry.handler("acme::scaled_swish",
                   {.emits = {"Mul", "Sigmoid"}, .facts = "same", .schema = "acme::scaled_swish(Tensor x, float beta) -> Tensor"},
                   scaled_swish);
  registry.handler("aten::linalg_inv", {.emits = {"Div", "Mul", "Sub", "Neg", "Concat"}, .from = 9}, inverse);
  registry.handler("aten::gelu", {.emits = {"com.microsoft::Gelu"}, .from = 9, .to = 19}, gelu);
}

}  // namespace

extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
