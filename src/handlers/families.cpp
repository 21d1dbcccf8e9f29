#include "handlers/families.h"

namespace compatcheck::handlers {

Registry shipped_handlers() {
  Registry registry;
  register_activation(registry);
  register_diagonal(registry);
  register_join(registry);
  register_padding(registry);
  register_rearrange(registry);
  register_shape(registry);
  register_slicing(registry);
  register_split(registry);
  register_view(registry);
  return registry;
}

}  // namespace compatcheck::handlers
