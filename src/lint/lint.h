// Checks mapping tables against the operator schemas of libtorch and ONNX, and against themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/registry.h"
#include "mapping/table.h"
#include "schema/schema.h"

namespace compatcheck::lint {

// The sources that tables are checked against. Checks against absent ones are skipped.
struct Known {
  const schema::Registry& schemas;                              // includes the schemas that the tables state (Table::schemas)
  std::optional<std::span<const std::string_view>> conditions;  // names that `requires` may use
  std::optional<std::span<const std::string_view>> fact_words;
  std::optional<std::span<const std::string_view>> handlers;  // operators that have one: "aten::pad", or with an overload
  const handlers::Registry* variants = nullptr;               // handlers whose variants rows may name; null: not checked
};

// Every defect, sorted by place.
std::vector<mapping::Defect> check(const mapping::Table& table, const Known& known);

// Those of users' files alone, whatever stands below them: cheap, nothing else is read. What the shipped tables are held to for
// their readers' sake is left to users: hints, rows that another one makes needless, an answer to every change of meaning.
std::vector<mapping::Defect> check_users(const mapping::Table& table, const Known& known);

// By place; what stands there twice goes.
void sort(std::vector<mapping::Defect>& defects);

// "file:line:column: message", the line and a caret.
std::string describe(const mapping::Table& table, const mapping::Defect& defect);

}  // namespace compatcheck::lint
