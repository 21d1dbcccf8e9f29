// A history as such: rows that are never reached, entries that say nothing new, meanings that changed under a row.
#include <algorithm>

#include "lint/checks.h"

namespace compatcheck::lint {

using mapping::Conditions;
using mapping::Entry;
using mapping::OperatorRows;
using mapping::Row;

namespace {

bool unconditional(const Row& row) { return row.when.empty() && row.required.empty(); }

// Whatever fits all of `a` fits all of `b`, as far as their texts show.
bool implies(const Conditions& a, const Conditions& b) {
  return std::ranges::all_of(b, [&](const auto& demanded) {
    return std::ranges::any_of(a, [&](const auto& given) {
      return given.argument == demanded.argument && mapping::equal(given.predicate, demanded.predicate);
    });
  });
}

// Every call that `later` would take, `earlier` takes.
bool shadows(const Row& earlier, const Row& later) {
  if (earlier.complex && !later.complex) return false;  // real tensors are left to it
  for (const std::string& name : earlier.required)
    if (std::ranges::find(later.required, name) == later.required.end()) return false;
  if (earlier.when.empty()) return true;
  const std::vector<Conditions> cases = later.when.empty() ? std::vector<Conditions>{{}} : later.when;
  return std::ranges::all_of(cases, [&](const Conditions& one) {
    return std::ranges::any_of(earlier.when, [&](const Conditions& conditions) { return implies(one, conditions); });
  });
}

bool stands_at(const mapping::Place& a, const mapping::Place& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

void check_entry(const Context& context, const Entry& entry) {
  for (std::size_t later = 0; later < entry.rows.size(); ++later) {
    const Row& row = entry.rows[later];
    if (row.kind != Row::Kind::mapped && row.hint.empty() && !entry.user)
      context.report(row.place, std::string("`hint` is missing: say what the user can do"));
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (shadows(entry.rows[earlier], row)) {
        context.report(row.place,
                       "never reached: the row on line " + std::to_string(entry.rows[earlier].place.line) +
                           (unconditional(entry.rows[earlier]) ? " takes every call" : " takes all that this one would"));
        break;
      }
  }
  if (entry.rows.size() == 1 && entry.rows.front().kind == Row::Kind::refuse) {
    context.report(entry.rows.front().place, unconditional(entry.rows.front())
                                                 ? "refuses every call; that is `missing`"
                                                 : "refuses some calls and maps none; that is `missing`");
  }
}

}  // namespace

void check_history(const Context& context, const OperatorRows& rows) {
  for (std::size_t i = 0; i < rows.history.size(); ++i) {
    const Entry& entry = rows.history[i];
    check_entry(context, entry);
    const int next = i + 1 < rows.history.size() ? rows.history[i + 1].opset : mapping::highest_opset + 1;
    const mapping::OnnxChange* const change = context.table.meaning_change(entry, next - 1);
    if (change && !entry.user) {
      context.report(entry.place, "ends at opset " + std::to_string(change->to) + ", where " + change->op +
                                      " changed its meaning (" + change->why + "); an entry for opset " +
                                      std::to_string(change->to) + " is missing");
    }
    if (i == 0) continue;
    const Entry& before = rows.history[i - 1];
    if (before.user != entry.user || !mapping::equal(before.rows, entry.rows)) continue;
    if (!context.table.meaning_change(before, entry.opset))
      context.report(entry.place, "says what opset " + std::to_string(before.opset) + " said already; an entry holds upward");
    else if (!entry.user && !stands_at(before.rows.front().place, entry.rows.front().place))
      context.report(entry.place, "repeats the entry for opset " + std::to_string(before.opset) + "; write `same`");
  }
}

}  // namespace compatcheck::lint
