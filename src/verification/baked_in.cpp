#include "verification/baked_in.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/input_spec.h"
#include "analysis/site.h"
#include "verification/frozen.h"
#include "verification/judge.h"

namespace compatcheck::verification {
namespace {

using analysis::BakedIn;
using NameSet = std::set<std::string>;

NameSet failed_names(const Verification& made) {
  NameSet names;
  for (const NamedDimension& dimension : made.dimensions)
    if (!dimension.reason.empty()) names.insert(dimension.name);
  return names;
}

std::string place_of_finding(const BakedIn& one) {
  return one.finding.sites.empty() ? "" : one.finding.op + analysis::place_text(one.finding.sites.front());
}

void report_sure(const BakedIn& one, NameSet& settled, Verification& made) {
  for (const std::string& name : one.names) {
    const auto dimension = std::ranges::find(made.dimensions, name, &NamedDimension::name);
    if (dimension == made.dimensions.end() || !settled.insert(name).second) continue;
    dimension->variation = NamedDimension::Variation::none;
    dimension->reason = "the dimension '" + name + "' can't change: " + place_of_finding(one) + " reads the constant " +
                        one.number + ", which " + one.origin +
                        " when the model was traced; other sizes run, but their results keep this size";
    Finding& finding = add_finding(made, "CC205", Severity::error, dimension->reason,
                                   std::string(without_int) + "; --dim " + name + "=" + std::to_string(dimension->sizes.front()) +
                                       " verifies this size alone");
    finding.nodes = 1;
    finding.sites = {one.finding.sites.front()};
    dimension->sizes.resize(1);
  }
}

void report_possible(const BakedIn& one, Verification& made) {
  const std::string place = place_of_finding(one);
  Finding& finding =
      add_finding(made, one.finding.id, Severity::warning, (place.empty() ? "" : place + ": ") + one.finding.message,
                  place.empty() ? one.finding.help
                                : "the number may be a constant of the trace or the model's own; if it comes from the trace, " +
                                      std::string(without_int));
  finding.op = one.finding.op;
  finding.overload = one.finding.overload;
  finding.nodes = one.finding.nodes;
  finding.sites = one.finding.sites;
}

}  // namespace

void report_baked_in(const std::vector<BakedIn>& found, const VerifyOptions& options, Verification& made) {
  NameSet settled = failed_names(made);
  for (const std::string& dim : options.convert.dims)
    if (const auto [name, size] = analysis::named_size(dim); analysis::is_number(size)) settled.insert(name);
  for (const BakedIn& one : found)
    if (one.surely) report_sure(one, settled, made);

  // The same number of the same node may be the size of several names; one error explains it.
  const NameSet failed = failed_names(made);
  std::set<std::pair<std::uint32_t, std::string>> explained;
  for (const BakedIn& one : found)
    if (std::ranges::any_of(one.names, [&](const std::string& name) { return failed.contains(name); }))
      for (const Site& site : one.finding.sites) explained.emplace(site.index, one.number);
  for (const BakedIn& one : found) {
    const auto& sites = one.finding.sites;
    const auto is_settled = [&](const std::string& name) { return settled.contains(name); };
    const auto is_explained = [&](const Site& site) { return explained.contains({site.index, one.number}); };
    if (one.surely || (!one.names.empty() && std::ranges::all_of(one.names, is_settled))) continue;
    if (!sites.empty() && std::ranges::all_of(sites, is_explained)) continue;
    report_possible(one, made);
  }
}

}  // namespace compatcheck::verification
