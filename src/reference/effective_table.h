// The table and schemas that options put in force.
#pragma once

#include <string>
#include <vector>

#include "compatcheck/reference.h"
#include "handlers/registry.h"
#include "mapping/table.h"
#include "schema/schema.h"

namespace compatcheck::reference {

struct Effective {
  mapping::Table table = mapping::Table::shipped();
  schema::Registry schemas;
  handlers::Registry handlers = handlers::shipped_handlers();
};

Effective effective(const ReferenceOptions& options);

// "relu" → "aten::relu"; throws UsageError with the nearest names for what nobody knows.
std::string full_name(const std::string& name, const Effective& in_force);

}  // namespace compatcheck::reference
