// Dropout: nothing is dropped in eval mode, a random part in training.
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

bool drops(const Emission& e) { return (!e.given("train") || e.boolean("train")) && e.number("p") > 0; }

// Whether an element stays.
Value random_mask(Emission& e, const Value& x) {
  const Value drawn = e.node("RandomUniformLike", {x}, {{"dtype", onnx::data_type(DType::f32)}}, DType::f32);
  return less(e, drawn, e.scalar(DType::f32, 1 - e.number("p")));
}

Value kept(Emission& e, const Value& x, const Value& mask) {
  const double p = e.number("p");
  return multiply(e, multiply(e, x, e.cast(mask, x.dtype)), e.scalar(x.dtype, p == 1 ? 0.0 : 1 / (1 - p)));
}

void dropout(Emission& e) {
  const Value x = e.tensor("input");
  if (!drops(e)) return e.give(x);
  if (e.number("p") == 1) return e.give(multiply(e, x, e.scalar(x.dtype, 0)));
  if (!e.variant("operator")) return e.give(kept(e, x, random_mask(e, x)));
  e.give(e.node("Dropout", {x, e.scalar(DType::f32, e.number("p")), e.scalar(DType::boolean, 1)}));
}

void native_dropout(Emission& e) {
  const Value x = e.tensor("input");
  if (!drops(e)) {
    e.give(0, x);
    if (e.output_used(1)) e.give(1, filled_like(e, x, DType::boolean, 1));
    return;
  }
  const Value mask = random_mask(e, x);
  e.give(0, kept(e, x, mask));
  e.give(1, mask);
}

}  // namespace

void register_activation_dropout(Registry& registry) {
  registry.handler("aten::dropout", dropout, {"operator"});
  for (const char* op : {"aten::feature_dropout", "aten::alpha_dropout"})
    registry.handler(op, [](Emission& e) { e.give(e.tensor("input")); });
  registry.handler("aten::native_dropout", native_dropout);
}

}  // namespace compatcheck::handlers
