#include "handlers/families.h"

namespace compatcheck::handlers {

Registry shipped_handlers() {
  Registry registry;
  register_activation(registry);
  register_activation_dropout(registry);
  register_activation_softmax(registry);
  register_arithmetic(registry);
  register_arithmetic_division(registry);
  register_arithmetic_divisor(registry);
  register_attention(registry);
  register_bitwise(registry);
  register_cast(registry);
  register_comparison(registry);
  register_complex(registry);
  register_convolution(registry);
  register_creation(registry);
  register_decomposition(registry);
  register_decomposition_elimination(registry);
  register_diagonal(registry);
  register_embedding(registry);
  register_fft(registry);
  register_fft_stft(registry);
  register_flash_attn(registry);
  register_histogram(registry);
  register_indexing(registry);
  register_join(registry);
  register_linalg(registry);
  register_loss(registry);
  register_loss_class(registry);
  register_matmul(registry);
  register_matmul_einsum(registry);
  register_matmul_grouped(registry);
  register_norm_reduction(registry);
  register_normalization(registry);
  register_padding(registry);
  register_polynomial(registry);
  register_pooling(registry);
  register_pooling_adaptive(registry);
  register_power(registry);
  register_quantized(registry);
  register_quantized_decomposed(registry);
  register_quantized_layers(registry);
  register_quantized_cells(registry);
  register_quantized_norms(registry);
  register_random(registry);
  register_range(registry);
  register_rearrange(registry);
  register_recurrent(registry);
  register_recurrent_cells(registry);
  register_recurrent_packed(registry);
  register_recurrent_quantized(registry);
  register_reduction(registry);
  register_resize(registry);
  register_rounding(registry);
  register_scalar(registry);
  register_scan(registry);
  register_scatter(registry);
  register_scatter_masked(registry);
  register_sequence(registry);
  register_shape(registry);
  register_slicing(registry);
  register_sort(registry);
  register_special(registry);
  register_special_bessel(registry);
  register_special_gamma(registry);
  register_special_modified_bessel(registry);
  register_split(registry);
  register_statistics(registry);
  register_torch_cluster(registry);
  register_torch_scatter(registry);
  register_torch_sparse(registry);
  register_torchao(registry);
  register_torchvision(registry);
  register_triangle(registry);
  register_trigonometry(registry);
  register_unique(registry);
  register_view(registry);
  register_view_strided(registry);
  register_vision_grid_sample(registry);
  return registry;
}

}  // namespace compatcheck::handlers
