// The tables in force: users' files over plugins over the shipped ones, with checked rows.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "handlers/registry.h"
#include "mapping/table.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::lint {

struct InForce {
  mapping::Table table = mapping::Table::shipped();
  schema::Registry schemas;  // includes the schemas that the tables state
  symbolic::Registry registry = symbolic::shipped_registry();
  handlers::Registry handlers = handlers::shipped_handlers();
};

// `mappings` are files and folders of them. Appends every defect of theirs, by place. Throws TableError for a file that can't
// be read or a plugin that can't be used.
InForce read_over_shipped(std::span<const std::filesystem::path> mappings, std::span<const std::filesystem::path> plugins,
                          std::vector<mapping::Defect>& defects);

// Throws TableError with every defect, as describe() tells it.
InForce in_force(std::span<const std::filesystem::path> mappings, std::span<const std::filesystem::path> plugins = {});

// Warnings about rows that may keep calls from converting: users' rows without `facts` for operators of which nothing else states
// them. By place.
std::vector<mapping::Defect> notes_on(const InForce& tables);

// Every defect of the shipped tables.
std::vector<mapping::Defect> check_shipped();

}  // namespace compatcheck::lint
