// Attention: facts.
#include "symbolic/demands.h"
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
  const auto lead = [](const TensorFact& tensor) {
    return tensor.shape && tensor.shape->size() >= 2 ? std::optional(Shape(tensor.shape->begin(), tensor.shape->end() - 2))
                                                     : std::nullopt;
  };
  if (key.shape && key.shape->size() >= 2) {
    Demands demands;
    demands.equal(key.shape->back(), query.shape->back(), "the last dimension of key");
    demands.equal((*value.shape)[value.shape->size() - 2], (*key.shape)[key.shape->size() - 2], "the number of values");
    demands.hold();
  }
  std::optional<Shape> shape = lead(query);
  if (!*grouped) shape = broadcast(broadcast(shape, lead(key)), lead(value));
  if (!shape) return std::nullopt;
  shape->push_back((*query.shape)[query.shape->size() - 2]);
  shape->push_back(value.shape->back());
  return shape;
}

Facts attention(const Call& call) { return {tensor_fact(call.dtype_of("query"), attended(call))}; }

// (result, weights averaged over heads or not); without need_weights nothing is stated of them.
Facts native_multi_head(const Call& call) {
  const TensorFact &query = tensor_of(call, "query"), &key = tensor_of(call, "key");
  const auto wanted = call.boolean("need_weights"), averaged = call.boolean("average_attn_weights");
  Facts facts{like(query), tensor_fact(std::nullopt, std::nullopt)};
  if (!wanted || !*wanted || !averaged) return facts;
  Shape weights{size_at(query, 0), size_at(query, 1), size_at(key, 1)};
  if (!*averaged) weights.insert(weights.begin() + 1, call.dim("num_head").value_or(Dim::unknown()));
  facts[1] = tensor_fact(query.dtype, std::move(weights));
  return facts;
}

Facts encoder_layer(const Call& call) { return {like(tensor_of(call, "src"))}; }

}  // namespace

void register_attention(Registry& registry) {
  for (const char* op : {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math",
                         "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_efficient_attention",
                         "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_cudnn_attention",
                         "aten::_scaled_dot_product_fused_attention_overrideable"})
    registry.facts(op, attention);
  registry.facts("aten::_native_multi_head_attention", native_multi_head);
  registry.facts("aten::_transformer_encoder_layer_fwd", encoder_layer);
}

}  // namespace compatcheck::symbolic
