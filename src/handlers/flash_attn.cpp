// flash_attn's attention, with (batch, time, heads, features) as layout. Source: csrc/flash_attn/src/mask.h and flash_api.cpp.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// In single precision, as the kernel computes.
Value with_heads_first(Emission& e, std::string_view tensor, const Ints& order) {
  return e.build.transpose(e.tensor(tensor, DType::f32), order);
}

// Each head of keys serves several of queries.
Value serving_heads(Emission& e, std::string_view tensor, const Ints& order) {
  const Value value = with_heads_first(e, tensor, order);
  if (provably_equal(e.shape("q")[2], e.shape(tensor)[2])) return value;
  const std::int64_t queries = e.known_size("q", 2), heads = e.known_size(tensor, 2);
  Ints from;
  for (std::int64_t head = 0; head < Emission::few(queries); ++head) from.push_back(head / (queries / heads));
  return e.build.gather(value, e.integers(from), 1);
}

// How many places a key stands behind the query's own: the last query's own key is the last one.
Value keys_behind(Emission& e) {
  const auto places = [&](std::string_view tensor) { return counting(e, e.size_of(tensor, 1)); };
  const Value own = sum(e, places("q"), difference(e, e.size_of("k", 1), e.size_of("q", 1)));
  return subtract(e, e.build.unsqueeze(places("k"), {0}), e.build.unsqueeze(own, {1}));
}

void give_flash_attention(Emission& e) {
  const std::int64_t left = e.integer("window_size_left"), right = e.boolean("causal") ? 0 : e.integer("window_size_right");
  const double softcap = e.number("softcap");
  const auto scalar = [&](double number) { return e.scalar(DType::f32, number); };
  const Value queries = e.node("Mul", {with_heads_first(e, "q", {0, 2, 1, 3}), scalar(e.number("softmax_scale"))});
  Value scores = e.node("MatMul", {queries, serving_heads(e, "k", {0, 2, 3, 1})});
  if (softcap > 0) scores = e.node("Mul", {e.node("Tanh", {e.node("Div", {scores, scalar(softcap)})}), scalar(softcap)});
  Value behind;
  if (e.given("alibi_slopes") || left >= 0 || right >= 0) behind = keys_behind(e);
  if (e.given("alibi_slopes")) {
    const Ints axes = e.rank("alibi_slopes") == 1 ? Ints{1, 2} : Ints{2, 3};
    const Value slopes = e.build.unsqueeze(e.tensor("alibi_slopes", DType::f32), axes);
    scores = e.node("Sub", {scores, e.node("Mul", {slopes, e.cast(absolute(e, behind), DType::f32)})});
  }
  Value hidden;
  if (right >= 0) hidden = greater(e, behind, e.scalar(DType::i64, right));
  if (left >= 0) {
    const Value too_early = less(e, behind, e.scalar(DType::i64, -left));
    hidden = hidden ? logical_or(e, hidden, too_early) : too_early;
  }
  if (hidden) scores = where(e, hidden, scalar(-infinity), scores);
  Value made = e.node("MatMul", {e.node("Softmax", {scores}, {{"axis", 3}}), serving_heads(e, "v", {0, 2, 1, 3})});
  const auto query_count = e.shape("q")[1].number(), key_count = e.shape("k")[1].number();
  const bool sees_itself = query_count && key_count && *query_count <= *key_count;
  if (hidden && !sees_itself) {  // a query that sees no key gives 0
    const Value seen = reduce(e, "ReduceMax", e.cast(logical_not(e, hidden), DType::i32), {1}, true);
    made = where(e, e.cast(seen, DType::boolean), made, scalar(0));
  }
  e.give(0, e.build.transpose(made, {0, 2, 1, 3}));
}

}  // namespace

void register_flash_attn(Registry& registry) { registry.handler("flash_attn::_flash_attn_forward", give_flash_attention); }

}  // namespace compatcheck::handlers
