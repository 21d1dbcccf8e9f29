#include <compatcheck/plugin_abi.h>

static compatcheck_status enter(const compatcheck_host* host, compatcheck_registry* registry) {
  (void)host, (void)registry;
  return *(volatile int32_t*)0; /* never called: its version is looked at first */
}

const compatcheck_plugin_entry compatcheck_plugin = {compatcheck_abi + 1, sizeof(compatcheck_host), enter};
