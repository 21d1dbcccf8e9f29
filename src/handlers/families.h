// The families of operators: each registers its handlers. One line a family here and in families.cpp.
#pragma once

#include "handlers/registry.h"

namespace compatcheck::handlers {

void register_activation(Registry& registry);
void register_diagonal(Registry& registry);
void register_join(Registry& registry);
void register_padding(Registry& registry);
void register_rearrange(Registry& registry);
void register_shape(Registry& registry);
void register_slicing(Registry& registry);
void register_split(Registry& registry);
void register_view(Registry& registry);

}  // namespace compatcheck::handlers
