// Checks mapping tables against the operator schemas of libtorch and ONNX, and against themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/table.h"
#include "schema/schema.h"

namespace compatcheck::lint {

struct Handler {
  std::string_view op;   // "aten::pad", or with an overload
  int opset = 0;         // from which it is written
};

// What the tables are held against. What is absent isn't checked.
struct Known {
  const schema::Registry& schemas;   // with those that the tables state (Table::schemas)
  std::optional<std::span<const std::string_view>> conditions;   // names that `requires` may use
  std::optional<std::span<const std::string_view>> fact_words;
  std::optional<std::span<const Handler>> handlers;
};

// Every defect, by place. Of an overlaid table too: whoever wants only a user's file selects by Place::file.
std::vector<mapping::Defect> check(const mapping::Table& table, const Known& known);

// "file:line:column: message", the line and a caret.
std::string describe(const mapping::Table& table, const mapping::Defect& defect);

}  // namespace compatcheck::lint
