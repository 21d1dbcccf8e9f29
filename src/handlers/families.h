// The families of operators: each registers its handlers. One line a family here and in families.cpp.
#pragma once

#include "handlers/registry.h"

namespace compatcheck::handlers {

void register_activation(Registry& registry);
void register_class_loss(Registry& registry);
void register_einsum(Registry& registry);
void register_fft(Registry& registry);
void register_linalg(Registry& registry);
void register_loss(Registry& registry);
void register_matmul(Registry& registry);
void register_norm_reduction(Registry& registry);
void register_normalization(Registry& registry);
void register_reduction(Registry& registry);
void register_scan(Registry& registry);
void register_sort(Registry& registry);
void register_statistics(Registry& registry);
void register_unique(Registry& registry);

}  // namespace compatcheck::handlers
