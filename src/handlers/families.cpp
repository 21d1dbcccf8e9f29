#include "handlers/families.h"

namespace compatcheck::handlers {

Registry shipped_handlers() {
  Registry registry;
  register_activation(registry);
  return registry;
}

}  // namespace compatcheck::handlers
