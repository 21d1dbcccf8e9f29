#include <compatcheck/plugin_abi.h>

static compatcheck_status enter(const compatcheck_host* host, compatcheck_registry* registry) {
  (void)host, (void)registry;
  return compatcheck_ok;
}

const compatcheck_plugin_entry compatcheck_plugin = {compatcheck_abi, sizeof(compatcheck_host) + sizeof(void*), enter};
