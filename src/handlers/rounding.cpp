// Rounding. Integers stay unchanged.
#include <cmath>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void give_rounding(Emission& e, const char* op) {
  const Value x = e.tensor("self");
  e.give(ir::is_floating(x.dtype) ? e.node(op, {x}) : x);
}

void floor(Emission& e) { give_rounding(e, "Floor"); }
void ceil(Emission& e) { give_rounding(e, "Ceil"); }
void round(Emission& e) { give_rounding(e, "Round"); }
void trunc(Emission& e) { e.give(truncated(e, e.tensor("self"))); }

void frac(Emission& e) {
  const Value x = e.tensor("self");
  e.give(subtract(e, x, truncated(e, x)));
}

void round_decimals(Emission& e) {
  const Value x = e.tensor("self");
  const std::int64_t decimals = e.integer("decimals");
  if (!ir::is_floating(x.dtype) || decimals == 0) return round(e);
  const Value scale = e.scalar(x.dtype, std::pow(10.0, static_cast<double>(std::abs(decimals))));
  const auto up = [&](const Value& value) { return multiply(e, value, scale); };
  const auto down = [&](const Value& value) { return divide(e, value, scale); };
  e.give(decimals > 0 ? down(e.node("Round", {up(x)})) : up(e.node("Round", {down(x)})));
}

}  // namespace

void register_rounding(Registry& registry) {
  registry.handler("aten::floor", floor);
  registry.handler("aten::ceil", ceil);
  registry.handler("aten::round", round);
  registry.handler("aten::round.decimals", round_decimals);
  registry.handler("aten::trunc", trunc);
  registry.handler("aten::frac", frac);
}

}  // namespace compatcheck::handlers
