// Activations that no plain row says.
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void silu(Emission& e) {
  const Value x = e.tensor("self");
  e.give(e.node("Mul", {x, e.node("Sigmoid", {x})}));
}

}  // namespace

void register_activation(Registry& registry) {
  registry.handler("aten::silu", silu);
}

}  // namespace compatcheck::handlers
