#include "symbolic/families.h"

namespace compatcheck::symbolic {

Registry shipped_registry() {
  Registry registry;
  register_words(registry);
  register_activation(registry);
  register_arithmetic(registry);
  register_attention(registry);
  register_cast(registry);
  register_comparison(registry);
  register_complex(registry);
  register_convolution(registry);
  register_creation(registry);
  register_decomposition(registry);
  register_diagonal(registry);
  register_dtypes(registry);
  register_embedding(registry);
  register_fft(registry);
  register_flash_attn(registry);
  register_histogram(registry);
  register_indexing(registry);
  register_join(registry);
  register_linalg(registry);
  register_loss(registry);
  register_matmul(registry);
  register_norm_reduction(registry);
  register_normalization(registry);
  register_padding(registry);
  register_pooling(registry);
  register_power(registry);
  register_properties(registry);
  register_quantized(registry);
  register_random(registry);
  register_range(registry);
  register_rearrange(registry);
  register_recurrent(registry);
  register_reduction(registry);
  register_resize(registry);
  register_rounding(registry);
  register_scalar(registry);
  register_scan(registry);
  register_scatter(registry);
  register_sequence(registry);
  register_shape(registry);
  register_slicing(registry);
  register_sort(registry);
  register_split(registry);
  register_statistics(registry);
  register_torch_cluster(registry);
  register_torch_scatter(registry);
  register_torch_sparse(registry);
  register_torchao(registry);
  register_torchvision(registry);
  register_triangle(registry);
  register_unique(registry);
  register_view(registry);
  register_view_strided(registry);
  register_vision(registry);
  return registry;
}

}  // namespace compatcheck::symbolic
