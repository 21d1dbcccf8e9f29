// The families of operators: each registers its handlers. One line a family here and in families.cpp.
#pragma once

#include "handlers/registry.h"

namespace compatcheck::handlers {

void register_activation(Registry& registry);
void register_activation_dropout(Registry& registry);
void register_activation_softmax(Registry& registry);
void register_arithmetic(Registry& registry);
void register_arithmetic_division(Registry& registry);
void register_arithmetic_divisor(Registry& registry);
void register_attention(Registry& registry);
void register_bitwise(Registry& registry);
void register_cast(Registry& registry);
void register_comparison(Registry& registry);
void register_complex(Registry& registry);
void register_convolution(Registry& registry);
void register_creation(Registry& registry);
void register_decomposition(Registry& registry);
void register_decomposition_elimination(Registry& registry);
void register_diagonal(Registry& registry);
void register_embedding(Registry& registry);
void register_fft(Registry& registry);
void register_fft_stft(Registry& registry);
void register_flash_attn(Registry& registry);
void register_histogram(Registry& registry);
void register_indexing(Registry& registry);
void register_join(Registry& registry);
void register_linalg(Registry& registry);
void register_loss(Registry& registry);
void register_loss_class(Registry& registry);
void register_matmul(Registry& registry);
void register_matmul_einsum(Registry& registry);
void register_matmul_grouped(Registry& registry);
void register_norm_reduction(Registry& registry);
void register_normalization(Registry& registry);
void register_padding(Registry& registry);
void register_polynomial(Registry& registry);
void register_pooling(Registry& registry);
void register_pooling_adaptive(Registry& registry);
void register_power(Registry& registry);
void register_quantized(Registry& registry);
void register_quantized_decomposed(Registry& registry);
void register_quantized_layers(Registry& registry);
void register_quantized_cells(Registry& registry);
void register_quantized_norms(Registry& registry);
void register_random(Registry& registry);
void register_range(Registry& registry);
void register_rearrange(Registry& registry);
void register_recurrent(Registry& registry);
void register_recurrent_cells(Registry& registry);
void register_recurrent_packed(Registry& registry);
void register_recurrent_quantized(Registry& registry);
void register_reduction(Registry& registry);
void register_resize(Registry& registry);
void register_rounding(Registry& registry);
void register_scalar(Registry& registry);
void register_scan(Registry& registry);
void register_scatter(Registry& registry);
void register_scatter_masked(Registry& registry);
void register_sequence(Registry& registry);
void register_shape(Registry& registry);
void register_slicing(Registry& registry);
void register_sort(Registry& registry);
void register_special(Registry& registry);
void register_special_bessel(Registry& registry);
void register_special_gamma(Registry& registry);
void register_special_modified_bessel(Registry& registry);
void register_split(Registry& registry);
void register_statistics(Registry& registry);
void register_torch_cluster(Registry& registry);
void register_torch_scatter(Registry& registry);
void register_torch_sparse(Registry& registry);
void register_torchao(Registry& registry);
void register_torchvision(Registry& registry);
void register_triangle(Registry& registry);
void register_trigonometry(Registry& registry);
void register_unique(Registry& registry);
void register_view(Registry& registry);
void register_view_strided(Registry& registry);
void register_vision_grid_sample(Registry& registry);

}  // namespace compatcheck::handlers
