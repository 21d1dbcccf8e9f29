// Rows and handlers match both ways.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

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

// Whether there are rows of the name or of one of its overloads, which a handler of the base name serves, too.
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

// A row of several operators doesn't say how: the operator's handler does, or a plugin's, whose rows these are
// (conversion/calls.cpp).
bool is_by_handler(const Context& context, const OperatorRows& shipped, int opset, const Row& row) {
  if (row.kind != Row::Kind::mapped || row.one_to_one() || row.body || row.complex) return false;
  onnx::OpsetRange around{opset, opset};
  const auto* overlaid = context.known.variants->find_overlaid(shipped.name, opset, around);
  return !overlaid || !row.place.file.starts_with(overlaid->plugin + "(");
}

void check_users_row(const Context& context, const OperatorRows& shipped, int opset, const Row& row) {
  if (!is_by_handler(context, shipped, opset, row)) return;
  std::vector<std::string> all, here;  // operators that its rows name at any opset, and at this one
  const auto add = [](std::vector<std::string>& names, const Row& from) {
    for (const std::string& name : from.to)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  bool repeats = false;
  for (std::size_t i = 0; i < shipped.history.size(); ++i) {
    const mapping::Entry& entry = shipped.history[i];
    const bool holds = entry.opset <= opset && (i + 1 == shipped.history.size() || shipped.history[i + 1].opset > opset);
    for (const Row& other : entry.rows) {
      if (other.kind != Row::Kind::mapped || other.complex) continue;
      add(all, other);
      if (holds) add(here, other);
      repeats |= std::ranges::is_permutation(other.to, row.to);
    }
  }
  const auto without = [](const std::vector<std::string>& names, const std::vector<std::string>& removed) {
    std::vector<std::string> left;
    std::ranges::copy_if(names, std::back_inserter(left),
                         [&](const std::string& name) { return std::ranges::find(removed, name) == removed.end(); });
    return left;
  };
  const std::string handler = "the C++ handler of " + quote(shipped.name) + " writes the nodes of this row, ";
  const std::string instead = "; write your own nodes with `inline`";
  if (const auto never = without(row.to, all); !never.empty())
    context.report(row.place, handler + "and it never writes " + mapping::joined(never) + instead);
  else if (const auto more = without(here, row.to); !more.empty() && !repeats && row.when.empty() && row.required.empty())
    context.report(row.place, handler + "and for some calls it also writes " + mapping::joined(more) + instead);
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

// A row of several operators for an operator with a handler: it can't choose the nodes.
void check_users_handlers(const Context& context, const OperatorRows& rows) {
  if (!context.known.variants || !context.known.variants->find_exact(rows.name)) return;
  static const mapping::Table tables = mapping::Table::shipped();
  const OperatorRows* shipped = tables.stated(rows.name);
  if (!shipped || !shipped->alias.empty()) return;
  for (const mapping::Entry& entry : rows.history)
    for (const Row& row : entry.rows)
      if (context.table.is_users(row.place)) check_users_row(context, *shipped, entry.opset, row);
}

}  // namespace compatcheck::lint
