#include "reference/in_force.h"

#include "analysis/stated_schemas.h"
#include "frontend/load.h"

namespace compatcheck::reference {

lint::InForce in_force(const ReferenceOptions& options) {
  lint::InForce in_force = lint::in_force(options.mappings, options.plugins);
  if (options.op_libraries.empty() && options.op_modules.empty()) return in_force;
  frontend::LoadOptions load;
  load.libtorch = options.libtorch;
  load.python = options.python;
  load.op_libraries = options.op_libraries;
  load.op_modules = options.op_modules;
  load.one_file = true;
  const std::vector<std::string> stated = in_force.table.schemas();
  for (const std::string& schema : frontend::Frontend(std::move(load)).library_schemas())
    in_force.schemas.add(analysis::reconciled(schema, stated));
  return in_force;
}

}  // namespace compatcheck::reference
