// flash_attn's operators: facts.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// The attention; the logarithms of its sums; what dropout left of the weights, which is empty unless asked for; a random state.
Facts flash_attention(const Call& call) {
  const TensorFact &q = tensor_of(call, "q"), &k = tensor_of(call, "k"), &v = tensor_of(call, "v");
  Demands demands;
  for (const char* argument : {"q", "k", "v"}) demands.rank(call, argument, 4, 4);
  demands.one_dtype(call, {"q", "k", "v"});
  demands.hold();
  for (const TensorFact* other : {&k, &v}) {
    demands.equal(size_at(*other, 0), size_at(q, 0), "the batch of keys and values");
    demands.equal(size_at(*other, 3), size_at(q, 3), "the number of features of keys and values");
    demands.multiple(size_at(q, 2), size_at(*other, 2), "the number of heads");
  }
  demands.equal(size_at(v, 1), size_at(k, 1), "the number of values");
  demands.hold();
  return {like(q), tensor_fact(DType::f32, Shape{size_at(q, 0), size_at(q, 2), size_at(q, 1)}),
          tensor_fact(q.dtype, std::nullopt), tensor_fact(DType::i64, Shape{Dim(2)})};
}

}  // namespace

void register_flash_attn(Registry& registry) { registry.facts("flash_attn::_flash_attn_forward", flash_attention); }

}  // namespace compatcheck::symbolic
