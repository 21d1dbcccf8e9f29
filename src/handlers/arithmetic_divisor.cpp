// Greatest common divisors and least common multiples, by Euclid's algorithm as PyTorch runs it: the least integer, which has no
// positive counterpart, stays negative.
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/loop.h"

namespace compatcheck::handlers {
namespace {

// A divisor in place of 0.
Value without_zero(Emission& e, const Value& value, const Value& is_zero) { return add(e, value, e.cast(is_zero, value.dtype)); }

struct Integers {
  Value a, b, divisor;  // at least 32 bits wide
};

Integers divisor_by_euclid(Emission& e) {
  const auto [a, b] = operands(e);
  const DType wide = ir::element_bytes(a.dtype) < 4 ? DType::i32 : a.dtype;
  const Value zero = e.scalar(wide, 0);
  const Value first = e.cast(absolute(e, a), wide);
  const Value second = add(e, e.cast(absolute(e, b), wide), multiply(e, first, zero));  // broadcast to the result's shape
  const auto states = while_any(
      e, {first, second}, [&](const Value&, const Values& now) { return not_equal(e, now[0], zero); },
      [&](const Value&, const Values& now) -> Values {
        const Value done = equal(e, now[0], zero), by = without_zero(e, now[0], done);
        const Value rest = subtract(e, now[1], multiply(e, divide(e, now[1], by), by));
        return {rest, where(e, done, now[1], now[0])};
      });
  return {e.cast(a, wide), e.cast(b, wide), states[1]};
}

void gcd(Emission& e) { e.give(divisor_by_euclid(e).divisor); }

void lcm(Emission& e) {
  const Integers all = divisor_by_euclid(e);
  const Value none = equal(e, all.divisor, e.scalar(all.divisor.dtype, 0));
  e.give(absolute(e, multiply(e, divide(e, all.a, without_zero(e, all.divisor, none)), all.b)));
}

}  // namespace

void register_arithmetic_divisor(Registry& registry) {
  registry.handler("aten::gcd", gcd);
  registry.handler("aten::lcm", lcm);
}

}  // namespace compatcheck::handlers
