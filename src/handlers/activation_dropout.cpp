// Dropout: nothing is dropped in eval mode, a random part in training.
#include <cmath>
#include <numeric>

#include "handlers/dropout.h"
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// In single precision at least: a probability near 1 has few digits in half precision.
Value share_kept(Emission& e, std::string_view p, DType dtype) {
  return subtract(e, e.scalar(dtype, 1), e.number_value(p, dtype));
}

}  // namespace

// Not by ONNX's Dropout: ONNX Runtime removes it, also in training mode, and gives its first element the same fate in every run.
Value random_mask(Emission& e, const Value& like, std::string_view p) {
  const Value drawn = e.node("RandomUniformLike", {like}, {{"dtype", onnx::data_type(DType::f32)}}, DType::f32);
  const auto known = e.call.number(p);
  return less(e, drawn, known ? e.scalar(DType::f32, 1 - *known) : share_kept(e, p, DType::f32));
}

Value kept(Emission& e, const Value& x, const Value& mask, std::string_view p) {
  const Value rest = multiply(e, x, e.cast(mask, x.dtype));
  if (const auto known = e.call.number(p)) return multiply(e, rest, e.scalar(x.dtype, *known == 1 ? 0.0 : 1 / (1 - *known)));
  const DType wide = x.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Value share = share_kept(e, p, wide), zero = e.scalar(wide, 0);
  return multiply(e, rest, e.cast(where(e, greater(e, share, zero), one_over(e, share), zero), x.dtype));
}

namespace {

bool drops(const Emission& e) { return (!e.given("train") || e.boolean("train")) && e.call.number("p") != 0; }

// The mask of whole channels: one element for each of the first two dimensions.
Value channel(Emission& e, const Value& x) {
  const auto rank = static_cast<std::size_t>(e.rank("input"));
  if (rank <= 2) return x;
  Ints axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return e.build.slice(x, Ints(rank - 2, 0), Ints(rank - 2, 1), axes);
}

// Elements that are dropped get the lower limit of SELU; scale and offset keep mean 0 and variance 1.
Value kept_by_alpha(Emission& e, const Value& x, const Value& mask) {
  constexpr double alpha = 1.7580993408473766;  // PyTorch's number
  const double p = e.number("p"), a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Value stays = e.cast(mask, x.dtype);
  const Value offset = plus(e, times(e, plus(e, stays, -1), alpha * a), alpha * a * p);
  return add(e, multiply(e, x, times(e, stays, a)), offset);
}

template <bool of_channels, bool with_alpha>
void dropout(Emission& e) {
  const Value x = e.tensor("input");
  if (!drops(e)) return e.give(x);
  if (e.call.number("p") == 1) return e.give(multiply(e, x, e.scalar(x.dtype, 0)));
  const Value mask = random_mask(e, of_channels ? channel(e, x) : x, "p");
  e.give(with_alpha ? kept_by_alpha(e, x, mask) : kept(e, x, mask, "p"));
}

void native_dropout(Emission& e) {
  const Value x = e.tensor("input");
  if (!drops(e)) {
    e.give(0, x);
    if (e.output_used(1)) e.give(1, filled_like(e, x, DType::boolean, 1));
    return;
  }
  const Value mask = random_mask(e, x, "p");
  e.give(0, kept(e, x, mask, "p"));
  e.give(1, mask);
}

}  // namespace

void register_activation_dropout(Registry& registry) {
  registry.handler("aten::dropout", dropout<false, false>);
  registry.handler("aten::feature_dropout", dropout<true, false>);
  registry.handler("aten::alpha_dropout", dropout<false, true>);
  registry.handler("aten::feature_alpha_dropout", dropout<true, true>);
  registry.handler("aten::native_dropout", native_dropout);
}

}  // namespace compatcheck::handlers
