// Scaled dot-product attention: ONNX's operator where it is exact, else written out.
#include "symbolic/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/dropout.h"
#include "handlers/families.h"
#include "handlers/sizes.h"
#include "process/spell_count.h"

namespace compatcheck::handlers {
namespace {

Value swap_last(Emission& e, const Value& value, std::int64_t rank) {
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return e.build.transpose(value, order);
}

// ---- What is added to the scores: 0, or minus infinity where a key isn't looked at

struct Bias {
  Value value;
  bool whole_rows = false;  // all keys of a row may be masked
};

// Whether a constant mask has no empty row; absent if its elements aren't at hand.
std::optional<bool> has_whole_rows(const onnx::TensorData& mask) {
  const auto numbers = onnx::as_floats(mask);
  if (mask.view || !numbers || mask.dims.empty() || mask.dims.back() == 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(mask.dims.back());
  const double hidden = mask.dtype == DType::boolean ? 0 : -infinity;
  for (std::size_t row = 0; row < numbers->size(); row += length)
    if (std::all_of(numbers->begin() + static_cast<std::ptrdiff_t>(row),
                    numbers->begin() + static_cast<std::ptrdiff_t>(row + length),
                    [&](double number) { return number == hidden; }))
      return true;
  return false;
}

std::string_view mask_name(const Emission& e) { return symbolic::attention_mask(e.call); }

Bias of_mask(Emission& e, DType dtype) {
  const Value mask = e.tensor(mask_name(e));
  const onnx::TensorData* constant = e.constant_of(mask);
  const bool whole = !constant || has_whole_rows(*constant).value_or(true);
  if (mask.dtype != DType::boolean) return {e.cast(mask, dtype), whole};
  return {e.node("Where", {mask, e.scalar(dtype, 0.0), e.scalar(dtype, -infinity)}), whole};
}

// A larger triangle is made when the model runs.
constexpr std::int64_t most_stored = 1 << 14;

// Query i looks at keys 0 … i.
Value of_causality(Emission& e, DType dtype) {
  const std::int64_t rank = e.rank("query"), key_rank = e.rank("key");
  const auto queries = e.size("query", rank - 2), keys = e.size("key", key_rank - 2);
  if (queries && keys && (*queries * *keys <= most_stored || !e.at_least(11))) {
    Doubles numbers;
    for (std::int64_t i = 0; i < *queries; ++i)
      for (std::int64_t j = 0; j < *keys; ++j) numbers.push_back(j <= i ? 0.0 : -infinity);
    return e.build.constant(onnx::make_tensor(dtype, {*queries, *keys}, numbers));
  }
  if (!e.at_least(11))
    throw Refusal{"a causal mask of sizes known only when the model runs needs Range, which came with opset 11",
                  "use opset 11, or name the sizes"};
  const auto count = [&](std::string_view tensor, std::int64_t axis) { return places_of(e, e.size_of(tensor, axis)); };
  const Value later = e.node("Greater", {count("key", key_rank - 2), e.build.unsqueeze(count("query", rank - 2), {1})});
  return e.node("Where", {later, e.scalar(dtype, -infinity), e.scalar(dtype, 0.0)});
}

Bias bias_of(Emission& e, DType dtype) {
  Bias bias;
  if (e.given(mask_name(e))) bias = of_mask(e, dtype);
  if (!e.boolean("is_causal")) return bias;
  const Value causal = of_causality(e, dtype);
  return {bias.value ? e.node("Add", {bias.value, causal}) : causal, bias.whole_rows || bias.value};
}

// ---- The products

Value scaled_query(Emission& e, const Value& query) {
  if (e.given("scale")) return e.node("Mul", {query, e.scalar(query.dtype, e.number("scale"))});
  const std::int64_t last = e.rank("query") - 1;
  if (const auto features = e.size("query", last))
    return e.node("Mul", {query, e.scalar(query.dtype, 1 / std::sqrt(static_cast<double>(*features)))});
  return e.node("Div", {query, e.node("Sqrt", {e.cast(e.size_of("query", last), query.dtype)})});
}

// Each head of keys serves several of queries.
Value repeated_heads(Emission& e, std::string_view tensor) {
  const Value value = e.tensor(tensor);
  if (!e.boolean("enable_gqa")) return value;
  const std::int64_t axis = e.rank(tensor) - 3;
  const std::int64_t heads = e.known_size(tensor, axis), queries = e.known_size("query", e.rank("query") - 3);
  if (heads == queries) return value;
  if (heads < 1 || queries % heads != 0)
    throw Refusal{spell_count(heads, "head") + " of keys don't serve " + std::to_string(queries) + " of queries"};
  Ints from;
  for (std::int64_t head = 0; head < queries; ++head) from.push_back(head / (queries / heads));
  return e.build.gather(value, e.integers(from), axis);
}

bool drops_weights(const Emission& e) { return e.call.has("dropout_p") && e.call.number("dropout_p") != 0; }

Value softmax_of_scores(Emission& e, const Value& scores, std::int64_t rank) {
  return e.node("Softmax", {scores}, {{"axis", rank - 1}});
}

// ---- ONNX's operator

bool fails_if_empty(Emission& e) { return e.build.compact("ONNX Runtime fails where a size is 0"); }

bool rounds_halves(Emission& e) { return e.build.compact("ONNX Runtime rounds to half precision after each step"); }

// The runtime takes a key for hidden where the mask is the lowest number, and a row without a key gives 0. PyTorch adds that
// number to the scores: the row is the mean of all values.
bool hides_by_infinity(Emission& e, const Value& mask, DType dtype) {
  if (mask.dtype == DType::boolean) return true;
  const double lowest = dtype == DType::f16 ? -65504.0 : -3.4e38;
  if (const onnx::TensorData* constant = e.constant_of(mask); constant && !constant->view)
    if (const auto numbers = onnx::as_floats(*constant))
      if (std::ranges::none_of(*numbers, [&](double number) { return number <= lowest / 2 && number != -infinity; })) return true;
  return e.build.compact("the result may differ from PyTorch's where a row of the mask is the lowest number of its dtype");
}

bool is_attention_node(Emission& e) {
  if (e.variant("operator")) return true;
  if (!e.row_has("Attention")) return false;
  const auto fit = symbolic::attention_fit(e.call);
  if (!fit.fits || (fit.may_be_empty && !fails_if_empty(e)) || (fit.halves && !rounds_halves(e))) return false;
  return !e.given(mask_name(e)) || hides_by_infinity(e, e.tensor(mask_name(e)), e.dtype("query"));
}

Value mask_of_all(Emission& e, std::int64_t rank) {
  const std::string_view name = mask_name(e);
  Value mask = e.tensor(name);
  if (mask.dtype != DType::boolean) mask = e.cast(mask, e.dtype("query"));
  if (!symbolic::mask_has_sizes(e.call)) {
    const auto at = static_cast<std::size_t>(rank - 2);
    mask = e.node("Expand", {mask, e.dims_value({e.shape("query")[at], e.shape("key")[at]})});
  }
  return rank == 3 && e.rank(name) == 3 ? e.build.unsqueeze(mask, {1}) : mask;
}

Value attention_node(Emission& e) {
  const std::int64_t rank = e.rank("query");
  Values inputs{e.tensor("query"), e.tensor("key"), e.tensor("value")};
  if (e.given(mask_name(e))) inputs.push_back(mask_of_all(e, rank));
  Arguments attributes;
  if (rank == 3) attributes = {{"q_num_heads", 1}, {"kv_num_heads", 1}};
  if (e.boolean("is_causal")) attributes.push_back({"is_causal", 1});
  if (e.given("scale")) attributes.push_back({"scale", e.number("scale")});
  return e.node("Attention", inputs, attributes);
}

// Only the first result of PyTorch's kernels is the attention; the others are for their gradients.
void scaled_dot_product(Emission& e) {
  for (std::size_t i = 1; i < e.call.node().outputs().size(); ++i)
    if (e.output_used(i)) throw Refusal{"only the first result has an ONNX form", "use scaled_dot_product_attention"};
  if (is_attention_node(e)) return e.give(attention_node(e));
  const Value query = scaled_query(e, e.tensor("query")), key = repeated_heads(e, "key"), value = repeated_heads(e, "value");
  const std::int64_t scores_rank = std::max(e.rank("query"), e.rank("key"));
  Value scores = e.node("MatMul", {query, swap_last(e, key, e.rank("key"))});
  const Bias bias = bias_of(e, scores.dtype);
  if (bias.value) scores = e.node("Add", {scores, bias.value});
  const std::int64_t mask_rank = e.given(mask_name(e)) ? e.rank(mask_name(e)) : 0;
  Value weights = softmax_of_scores(e, scores, std::max(scores_rank, mask_rank));
  if (e.call.has("dropout_p") && e.call.number("dropout_p") == 1)
    weights = e.node("Mul", {weights, e.scalar(weights.dtype, 0)});
  else if (drops_weights(e))
    weights = kept(e, weights, random_mask(e, weights, "dropout_p"), "dropout_p");
  Value made = e.node("MatMul", {weights, value});
  if (bias.whole_rows) {
    if (!e.at_least(9)) throw Refusal{"rows that are masked out whole give 0, which needs Where before opset 9", "use opset 9"};
    const std::int64_t last = std::max<std::int64_t>(mask_rank, e.boolean("is_causal") ? 2 : 0) - 1;
    const Value seen = e.node("ReduceMax", {bias.value}, {{"axes", Ints{last}}, {"keepdims", 1}});
    made = e.node("Where", {e.node("Greater", {seen, e.scalar(seen.dtype, -infinity)}), made, e.scalar(made.dtype, 0.0)});
  }
  e.give(made);
}

// ---- What PyTorch puts in the place of MultiheadAttention and TransformerEncoderLayer

struct Heads {
  Value query, key, value;  // (batch, time, features)
  Value qkv_weight, qkv_bias, weight, bias, mask;
  std::int64_t features = 0, count = 0;
  bool same = false;  // query, key and value are one tensor
};

// (batch, time, features) → (batch, heads, time, features of a head)
Value parted_heads(Emission& e, const Heads& heads, const Value& value) {
  if (heads.count < 1 || heads.features % heads.count != 0)
    throw Refusal{spell_count(heads.features, "feature") + " can't be divided into " + spell_count(heads.count, "head")};
  return e.build.transpose(e.build.reshape(value, {0, 0, heads.count, heads.features / heads.count}), {0, 2, 1, 3});
}

Values projected(Emission& e, const Heads& heads) {
  const std::int64_t features = heads.features;
  Values made;
  if (heads.same) {
    const Value all = linear_layer(e, heads.query, heads.qkv_weight, heads.qkv_bias);
    for (std::int64_t i = 0; i < 3; ++i) made.push_back(e.build.slice(all, {i * features}, {(i + 1) * features}, {2}));
    return made;
  }
  const Value inputs[] = {heads.query, heads.key, heads.value};
  for (std::int64_t i = 0; i < 3; ++i)
    made.push_back(linear_layer(e, inputs[i], e.build.slice(heads.qkv_weight, {i * features}, {(i + 1) * features}, {0}),
                                e.build.slice(heads.qkv_bias, {i * features}, {(i + 1) * features}, {0})));
  return made;
}

// The mask is true where a key isn't looked at; of mask_type 0 (query, key), 1 (batch, key), 2 (batch, head, query, key).
Value padding_mask(Emission& e) {
  if (!e.given("mask")) return {};
  const Value mask = e.cast(e.tensor("mask"), DType::boolean);
  return e.integer("mask_type") == 1 ? e.build.unsqueeze(mask, {1, 2}) : mask;
}

struct Attended {
  Value result, weights;
};

bool has_sizes(Emission& e) {
  const auto empty = [&](std::string_view name) { return e.call.has(name) && may_be_empty(e.shape(name), {0, 1}); };
  return !(empty("src") || empty("query") || empty("key")) || fails_if_empty(e);
}

// Where a mask hides all keys, these give NaN and ONNX's Attention 0.
bool heads_by_operator(Emission& e, const Heads& heads, bool weights) {
  const bool fits = !heads.mask && !weights && heads.query.dtype != DType::f64 && heads.count > 0;
  return e.row_has("Attention") && fits && heads.features % heads.count == 0 && has_sizes(e) &&
         (heads.query.dtype != DType::f16 || rounds_halves(e));
}

Attended attend(Emission& e, const Heads& heads, bool weights_used = false) {
  const Values parts = projected(e, heads);
  if (heads_by_operator(e, heads, weights_used)) {
    const Value mixed = e.node("Attention", parts, {{"q_num_heads", heads.count}, {"kv_num_heads", heads.count}});
    return {linear_layer(e, mixed, heads.weight, heads.bias), {}};
  }
  const std::int64_t width = heads.features / heads.count;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Value query = e.node("Mul", {parted_heads(e, heads, parts[0]), e.scalar(parts[0].dtype, scale)});
  Value scores = e.node("MatMul", {query, swap_last(e, parted_heads(e, heads, parts[1]), 4)});
  if (heads.mask) scores = e.node("Where", {heads.mask, e.scalar(scores.dtype, -infinity), scores});
  const Value weights = softmax_of_scores(e, scores, 4);
  const Value mixed = e.build.transpose(e.node("MatMul", {weights, parted_heads(e, heads, parts[2])}), {0, 2, 1, 3});
  return {linear_layer(e, e.build.reshape(mixed, {0, 0, heads.features}), heads.weight, heads.bias), weights};
}

// Reads the layer's weights by the names that both operators have. `count`: the argument that states the number of heads.
Heads heads_of(Emission& e, const Value& query, const Value& key, const Value& value, std::string_view count) {
  return {.query = query,
          .key = key,
          .value = value,
          .qkv_weight = e.tensor("qkv_weight"),
          .qkv_bias = e.tensor("qkv_bias"),
          .weight = e.tensor("proj_weight"),
          .bias = e.tensor("proj_bias"),
          .mask = padding_mask(e),
          .features = e.integer("embed_dim"),
          .count = e.integer(count),
          .same = query.id == key.id && key.id == value.id};
}

void native_multi_head(Emission& e) {
  const bool weights = e.output_used(1) && e.boolean("need_weights");
  const Attended made = attend(e, heads_of(e, e.tensor("query"), e.tensor("key"), e.tensor("value"), "num_head"), weights);
  e.give(0, made.result);
  if (!weights) return;
  e.give(1, e.boolean("average_attn_weights") ? e.node("ReduceMean", {made.weights}, {{"axes", Ints{1}}, {"keepdims", 0}})
                                              : made.weights);
}

Value encoder_norm(Emission& e, const Value& input, std::string_view which) {
  const Value weight = e.tensor("norm_weight_" + std::string(which)), bias = e.tensor("norm_bias_" + std::string(which));
  const double epsilon = e.number("eps");
  if (e.at_least(17)) return e.node("LayerNormalization", {input, weight, bias}, {{"axis", 2}, {"epsilon", epsilon}});
  const auto mean = [&](const Value& value) { return e.node("ReduceMean", {value}, {{"axes", Ints{2}}, {"keepdims", 1}}); };
  const Value centred = e.node("Sub", {input, mean(input)});
  const Value variance = e.node("Add", {mean(e.node("Mul", {centred, centred})), e.scalar(input.dtype, epsilon)});
  const Value normal = e.node("Div", {centred, e.node("Sqrt", {variance})});
  return e.node("Add", {e.node("Mul", {normal, weight}), bias});
}

Value feed_forward_activation(Emission& e, const Value& value) {
  if (!e.boolean("use_gelu")) return e.node("Relu", {value});
  if (e.at_least(20)) return e.node("Gelu", {value});
  const Value erf = e.node("Erf", {e.node("Div", {value, e.scalar(value.dtype, std::sqrt(2.0))})});
  const Value half = e.node("Mul", {value, e.scalar(value.dtype, 0.5)});
  return e.node("Mul", {half, e.node("Add", {erf, e.scalar(value.dtype, 1.0)})});
}

void encoder_layer(Emission& e) {
  const Value source = e.tensor("src");
  const bool before = e.boolean("norm_first");
  const auto self_attention = [&](const Value& input) { return attend(e, heads_of(e, input, input, input, "num_heads")).result; };
  const auto feed_forward = [&](const Value& input) {
    const Value hidden = feed_forward_activation(e, linear_layer(e, input, e.tensor("ffn_weight_1"), e.tensor("ffn_bias_1")));
    return linear_layer(e, hidden, e.tensor("ffn_weight_2"), e.tensor("ffn_bias_2"));
  };
  const auto step = [&](const Value& input, std::string_view norm, const auto& layer) {
    const Value sum = e.node("Add", {layer(before ? encoder_norm(e, input, norm) : input), input});
    return before ? sum : encoder_norm(e, sum, norm);
  };
  e.give(step(step(source, "1", self_attention), "2", feed_forward));
}

}  // namespace

void register_attention(Registry& registry) {
  for (const char* op :
       {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_fused_attention_overrideable"})
    registry.handler(op, scaled_dot_product, {"operator"});
  registry.handler("aten::_native_multi_head_attention", native_multi_head);
  registry.handler("aten::_transformer_encoder_layer_fwd", encoder_layer);
}

}  // namespace compatcheck::handlers
