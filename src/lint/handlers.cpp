// Rows and handlers match both ways.
#include <algorithm>

#include "handlers/registry.h"
#include "lint/checks.h"

namespace compatcheck::lint {

using mapping::OperatorRows;
using mapping::Row;

namespace {

bool maps_anywhere(const OperatorRows& rows) {
  return std::ranges::any_of(rows.history, [](const mapping::Entry& entry) {
    return std::ranges::any_of(entry.rows, [](const Row& row) { return row.kind == Row::Kind::mapped; });
  });
}

// Of the name, or, as a handler of the base name serves overloads with rows of their own, of an overload.
bool speak_for(const OperatorRows& rows, std::string_view name) {
  return rows.name == name || mapping::split_overload(rows.name).first == name;
}

void check_handler(const Context& context, std::string_view name) {
  const OperatorRows* unmapped = nullptr;
  for (const OperatorRows* rows : context.table.operators()) {
    if (!speak_for(*rows, name)) continue;
    if (!rows->alias.empty() || maps_anywhere(*rows)) return;
    unmapped = rows;
  }
  const std::string what = "a handler for " + quote(name) + ", which ";
  if (unmapped)
    context.report(unmapped->place, what + "no row maps at any opset");
  else
    context.report({"mappings/operators", 1, 1}, what + "the tables don't name");
}

void check_row(const Context& context, const OperatorRows& rows, const Row& row) {
  if (row.kind != Row::Kind::mapped || handlers::is_plain(row)) return;
  if (std::ranges::any_of(*context.known.handlers, [&](std::string_view name) { return speak_for(rows, name); })) return;
  context.report(row.place, "a row of several ONNX operators needs a handler, and " + quote(rows.name) + " has none");
}

}  // namespace

void check_handlers(const Context& context) {
  if (!context.known.handlers) return;
  for (const std::string_view name : *context.known.handlers) check_handler(context, name);
  for (const OperatorRows* rows : context.table.operators())
    for (const mapping::Entry& entry : rows->history)
      for (const Row& row : entry.rows) check_row(context, *rows, row);
}

}  // namespace compatcheck::lint
