// The registrations of a plugin while it is entered.
#pragma once

#include <string>

#include "plugins/plugin.h"

struct compatcheck_registry {
  std::shared_ptr<const compatcheck::plugins::Library> library;
  compatcheck::plugins::Plugin made;
  std::string problem;  // the first
};

namespace compatcheck::plugins {

compatcheck_status add_handler(compatcheck_registry* registry, const compatcheck_handler* handler);
compatcheck_status add_facts(compatcheck_registry* registry, compatcheck_text op, compatcheck_function function);
compatcheck_status add_condition(compatcheck_registry* registry, compatcheck_text name, compatcheck_function function);
compatcheck_status add_rows(compatcheck_registry* registry, compatcheck_text yaml);
void reject(compatcheck_registry* registry, compatcheck_text reason);

}  // namespace compatcheck::plugins
