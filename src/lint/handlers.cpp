// Rows and handlers match both ways.
#include <algorithm>

#include "lint/checks.h"

namespace compatcheck::lint {

using mapping::OperatorRows;
using mapping::Row;

namespace {

bool maps_at(const OperatorRows& rows, int opset) {
  const mapping::Entry* holds = nullptr;
  for (const mapping::Entry& entry : rows.history)
    if (entry.opset <= opset) holds = &entry;
  return holds && std::ranges::any_of(holds->rows, [](const Row& row) { return row.kind == Row::Kind::mapped; });
}

}  // namespace

void check_handlers(const Context& context) {
  if (!context.known.handlers) return;
  for (const Handler& handler : *context.known.handlers) {
    const OperatorRows* const rows = context.states(handler.op);
    const std::string what = "a handler for " + quote(handler.op) + " at opset " + std::to_string(handler.opset) + ", where ";
    if (!rows)
      context.report({"mappings/operators", 1, 1}, what + "the tables hold no such operator");
    else if (!maps_at(*rows, handler.opset))
      context.report(rows->place, what + "no row maps it");
  }
  for (const OperatorRows* rows : context.table.operators())
    for (const mapping::Entry& entry : rows->history)
      for (const Row& row : entry.rows)
        if (row.to.size() > 1 && !row.body && std::ranges::none_of(*context.known.handlers, [&](const Handler& h) {
              return h.op == rows->name && h.opset <= entry.opset;
            }))
          context.report(row.place, "a row of several ONNX operators needs a handler, and " + quote(rows->name) +
                                        " has none at opset " + std::to_string(entry.opset));
}

}  // namespace compatcheck::lint
