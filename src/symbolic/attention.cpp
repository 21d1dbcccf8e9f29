// Attention: facts.
#include "symbolic/attention.h"

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// Everything but the last two dimensions, broadcast over query, key and value; heads are the query's in grouped attention.
std::optional<Shape> attended(const Call& call) {
  const TensorFact &query = tensor_of(call, "query"), &key = tensor_of(call, "key"), &value = tensor_of(call, "value");
  const auto grouped = call.has("enable_gqa") ? call.boolean("enable_gqa") : std::optional(false);
  if (!query.shape || !value.shape || query.shape->size() < 2 || value.shape->size() < 2 || !grouped) return std::nullopt;
  const std::ptrdiff_t behind = *grouped ? 3 : 2;  // dimensions that don't broadcast
  const auto lead = [&](const TensorFact& tensor) {
    const bool has = tensor.shape && std::ssize(*tensor.shape) >= behind;
    return has ? std::optional(Shape(tensor.shape->begin(), tensor.shape->end() - behind)) : std::nullopt;
  };
  if (key.shape && key.shape->size() >= 2) {
    Demands demands;
    demands.equal(key.shape->back(), query.shape->back(), "the last dimension of key");
    demands.equal((*value.shape)[value.shape->size() - 2], (*key.shape)[key.shape->size() - 2], "the number of values");
    demands.hold();
  }
  std::optional<Shape> shape = broadcast(broadcast(lead(query), lead(key)), lead(value));
  if (!shape) return std::nullopt;
  shape->insert(shape->end(), query.shape->end() - behind, query.shape->end() - 1);
  shape->push_back(value.shape->back());
  return shape;
}

Facts attention(const Call& call) { return {tensor_fact(call.dtype_of("query"), attended(call))}; }

// (result, weights averaged over heads or not); without need_weights nothing is stated of them.
Facts native_multi_head(const Call& call) {
  const TensorFact &query = tensor_of(call, "query"), &key = tensor_of(call, "key");
  const auto with_weights = call.boolean("need_weights"), averaged = call.boolean("average_attn_weights");
  Facts facts{like(query), tensor_fact(std::nullopt, std::nullopt)};
  if (!with_weights || !*with_weights || !averaged) return facts;
  Shape weights{size_at(query, 0), size_at(query, 1), size_at(key, 1)};
  if (!*averaged) weights.insert(weights.begin() + 1, call.dim("num_head").value_or(Dim::unknown()));
  facts[1] = tensor_fact(query.dtype, std::move(weights));
  return facts;
}

Facts encoder_layer(const Call& call) { return {like(tensor_of(call, "src"))}; }

// (batch, heads, length, features), or without heads.
bool heads_fit(const Call& call, const Shape& query, const Shape& key, const Shape& value) {
  if (query.size() == 3) return true;
  const auto queries = query[1].number(), keys = key[1].number();
  if (!queries || !keys || *keys < 1 || !provably_equal(key[1], value[1])) return false;
  const auto grouped = call.has("enable_gqa") ? call.boolean("enable_gqa") : std::optional(false);
  return *queries == *keys || (grouped == true && *queries > 0 && *queries % *keys == 0);
}

// Sizes of 1 stretch.
bool mask_fits(const Shape& mask, const Shape& query, const Dim& keys) {
  Shape scores = query;
  scores.back() = keys;
  if (mask.size() > scores.size()) return false;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const Dim& size = mask[mask.size() - 1 - i];
    if (size.number() != 1 && !provably_equal(size, scores[scores.size() - 1 - i])) return false;
  }
  return true;
}

bool scale_fits(const Call& call, DType dtype) {
  if (!call.has("scale") || call.is_none("scale")) return true;
  const auto scale = call.number("scale");
  return scale && *scale > 0 && *scale <= (dtype == DType::f16 ? 65504.0 : 3.4e38);
}

Verdict attention_is_exact(const Call& call) {
  if (!attention_fit(call).exact()) return {.truth = Truth::no, .message = "ONNX Runtime's Attention doesn't compute it"};
  const std::string_view mask = attention_mask(call);
  // A row of floats may hide all keys in a way that the runtime reads otherwise.
  const bool floats = !call.is_none(mask) && call.dtype_of(mask) != DType::boolean;
  return {.truth = floats ? Truth::no : Truth::yes, .message = floats ? "the mask is of floats" : ""};
}

}  // namespace

std::string_view attention_mask(const Call& call) { return call.has("attn_bias") ? "attn_bias" : "attn_mask"; }

bool mask_has_sizes(const Call& call) {
  const auto &query = tensor_of(call, "query"), &key = tensor_of(call, "key");
  const std::string_view name = attention_mask(call);
  if (!call.has(name) || call.is_none(name)) return true;
  const auto& mask = tensor_of(call, name);
  if (!mask.shape || !query.shape || !key.shape || mask.shape->size() < 2) return false;
  const std::size_t last = mask.shape->size() - 1;
  return provably_equal((*mask.shape)[last - 1], (*query.shape)[query.shape->size() - 2]) &&
         provably_equal((*mask.shape)[last], (*key.shape)[key.shape->size() - 2]);
}

AttentionFit attention_fit(const Call& call) {
  const auto &query = tensor_of(call, "query"), &key = tensor_of(call, "key"), &value = tensor_of(call, "value");
  if (!query.dtype || *query.dtype == DType::f64 || !query.shape || !key.shape || !value.shape) return {};
  const Shape &q = *query.shape, &k = *key.shape, &v = *value.shape;
  const std::size_t rank = q.size();
  if ((rank != 3 && rank != 4) || k.size() != rank || v.size() != rank) return {};
  const bool agree = provably_equal(q[0], k[0]) && provably_equal(k[0], v[0]) && provably_equal(k[rank - 2], v[rank - 2]) &&
                     provably_equal(q.back(), k.back()) && provably_at_least_if_empty(q.back(), 1) &&
                     provably_at_least_if_empty(v.back(), 1);
  const auto causal = call.boolean("is_causal");
  if (!agree || !causal || call.number("dropout_p") != 0 || !heads_fit(call, q, k, v) || !scale_fits(call, *query.dtype))
    return {};
  if (const std::string_view name = attention_mask(call); call.has(name) && !call.is_none(name)) {
    const auto& mask = tensor_of(call, name);
    if (*causal || !mask.dtype || !mask.shape || !mask_fits(*mask.shape, q, k[rank - 2])) return {};
  }
  AttentionFit fit{.fits = true, .halves = *query.dtype == DType::f16};
  for (const Dim& size : {q[0], q[rank - 2], k[rank - 2]}) {
    fit.fits = fit.fits && provably_at_least(size, 1);
    fit.may_be_empty = fit.may_be_empty || !provably_at_least_if_empty(size, 1);
  }
  return fit;
}

void register_attention(Registry& registry) {
  registry.condition("attention_is_exact", attention_is_exact);
  registry.condition("mask_has_sizes", [](const Call& call) -> Verdict {
    const bool has = mask_has_sizes(call);
    return {.truth = has ? Truth::yes : Truth::no, .message = has ? "" : "the mask broadcasts over queries or keys"};
  });
  for (const char* op : {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math",
                         "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_efficient_attention",
                         "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_cudnn_attention",
                         "aten::_scaled_dot_product_fused_attention_overrideable"})
    registry.facts(op, attention);
  registry.facts("aten::_native_multi_head_attention", native_multi_head);
  registry.facts("aten::_transformer_encoder_layer_fwd", encoder_layer);
}

}  // namespace compatcheck::symbolic
