// The families of operators: each registers its handlers. One line a family here and in families.cpp.
#pragma once

#include "handlers/registry.h"

namespace compatcheck::handlers {

void register_activation(Registry& registry);
void register_adaptive_pooling(Registry& registry);
void register_attention(Registry& registry);
void register_convolution(Registry& registry);
void register_packed(Registry& registry);
void register_pooling(Registry& registry);
void register_recurrent(Registry& registry);
void register_recurrent_cells(Registry& registry);
void register_resize(Registry& registry);

}  // namespace compatcheck::handlers
