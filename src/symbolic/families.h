// The families of operators: each registers its facts and conditions. One line a family here and in families.cpp.
#pragma once

#include "symbolic/registry.h"

namespace compatcheck::symbolic {

void register_words(Registry& registry);
void register_view(Registry& registry);

}  // namespace compatcheck::symbolic
