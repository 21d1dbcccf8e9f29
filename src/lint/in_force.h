// What is in force with users' files over the shipped tables, once their rows have been checked.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "mapping/table.h"
#include "schema/schema.h"

namespace compatcheck::lint {

struct InForce {
  mapping::Table table = mapping::Table::shipped();
  schema::Registry schemas;   // with those that the tables state
};

// `mappings` are files and folders of them. Appends every defect of theirs, by place. Throws TableError for a file that can't
// be read.
InForce read_over_shipped(std::span<const std::filesystem::path> mappings, std::vector<mapping::Defect>& defects);

// Throws TableError with every defect, as describe() tells it.
InForce in_force(std::span<const std::filesystem::path> mappings);

// Every defect of the shipped tables.
std::vector<mapping::Defect> check_shipped();

}  // namespace compatcheck::lint
