#include "handlers/families.h"

namespace compatcheck::handlers {

Registry shipped_handlers() {
  Registry registry;
  register_activation(registry);
  register_adaptive_pooling(registry);
  register_attention(registry);
  register_convolution(registry);
  register_packed(registry);
  register_pooling(registry);
  register_recurrent(registry);
  register_recurrent_cells(registry);
  register_resize(registry);
  return registry;
}

}  // namespace compatcheck::handlers
