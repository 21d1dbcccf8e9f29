// A plugin put in force over what is there.
#pragma once

#include <vector>

#include "handlers/registry.h"
#include "mapping/table.h"
#include "plugins/plugin.h"
#include "symbolic/registry.h"

namespace compatcheck::plugins {

// Its rows, and those that its handlers imply, over the table's; its functions over the registries'. Appends what is wrong in its
// rows. Throws TableError for a handler that no row leads to and a condition that there is already.
void overlay(const Plugin& plugin, mapping::Table& table, symbolic::Registry& registry, handlers::Registry& handlers,
             std::vector<mapping::Defect>& defects);

}  // namespace compatcheck::plugins
