#include "symbolic/families.h"

namespace compatcheck::symbolic {

Registry shipped_registry() {
  Registry registry;
  register_words(registry);
  register_view(registry);
  return registry;
}

}  // namespace compatcheck::symbolic
