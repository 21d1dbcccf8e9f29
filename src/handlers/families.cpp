#include "handlers/families.h"

namespace compatcheck::handlers {

Registry shipped_handlers() {
  Registry registry;
  register_activation(registry);
  register_class_loss(registry);
  register_einsum(registry);
  register_fft(registry);
  register_linalg(registry);
  register_loss(registry);
  register_matmul(registry);
  register_norm_reduction(registry);
  register_normalization(registry);
  register_reduction(registry);
  register_scan(registry);
  register_sort(registry);
  register_statistics(registry);
  register_unique(registry);
  return registry;
}

}  // namespace compatcheck::handlers
