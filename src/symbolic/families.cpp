#include "symbolic/families.h"

namespace compatcheck::symbolic {

Registry shipped_registry() {
  Registry registry;
  register_words(registry);
  register_attention(registry);
  register_cast(registry);
  register_convolution(registry);
  register_creation(registry);
  register_dtypes(registry);
  register_fft(registry);
  register_indexing(registry);
  register_join(registry);
  register_linalg(registry);
  register_loss(registry);
  register_matmul(registry);
  register_normalization(registry);
  register_pointwise(registry);
  register_pooling(registry);
  register_properties(registry);
  register_quantized(registry);
  register_rearrange(registry);
  register_recurrent(registry);
  register_reduction(registry);
  register_resize(registry);
  register_scalar(registry);
  register_sequence(registry);
  register_slicing(registry);
  register_split(registry);
  register_view(registry);
  register_vision(registry);
  return registry;
}

}  // namespace compatcheck::symbolic
