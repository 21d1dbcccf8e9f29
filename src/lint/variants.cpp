// Variants of handlers: rows name only declared variants, and every declared variant is named.
#include <algorithm>
#include <set>

#include "lint/checks.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::lint {

using mapping::OperatorRows;
using mapping::Row;

namespace {

std::set<std::string_view> variants_of(const OperatorRows& rows) {
  std::set<std::string_view> variants;
  for (const mapping::Entry& entry : rows.history)
    for (const Row& row : entry.rows)
      if (!row.variant.empty()) variants.insert(row.variant);
  return variants;
}

}  // namespace

void check_variants(const Context& context, const OperatorRows& rows) {
  if (!context.known.variants) return;
  const auto& declared = context.known.variants->variants(rows.name);
  const std::vector<std::string_view> names(declared.begin(), declared.end());
  for (const mapping::Entry& entry : rows.history)
    for (const Row& row : entry.rows)
      if (!row.variant.empty() && std::ranges::find(declared, row.variant) == declared.end())
        context.report(row.place, "the handler of " + quote(rows.name) + " has no variant " + quote(row.variant) +
                                      mapping::did_you_mean(row.variant, names));
}

// A handler serves the overloads of its base name, too.
void check_unused_variants(const Context& context) {
  if (!context.known.variants) return;
  for (const std::string_view handler : context.known.variants->names()) {
    std::set<std::string_view> required;
    mapping::Place place{"mappings/operators", 1, 1};
    for (const OperatorRows* rows : context.table.operators()) {
      if (rows->name != handler && mapping::split_overload(rows->name).first != handler) continue;
      place = rows->place;
      const OperatorRows* stated = rows->alias.empty() ? rows : context.states(rows->alias);
      if (stated) required.merge(variants_of(*stated));
    }
    for (const std::string& variant : context.known.variants->variants(handler))
      if (!required.contains(variant))
        context.report(place, "no row asks for the variant " + quote(variant) + " of the handler of " + quote(handler));
  }
}

}  // namespace compatcheck::lint
