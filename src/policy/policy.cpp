// The findings of a run that count.
#include "compatcheck/policy.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/boundary.h"
#include "analysis/findings.h"
#include "analysis/gate.h"
#include "analysis/rules.h"
#include "policy/allow.h"
#include "process/day.h"

namespace compatcheck {
namespace {

using Scope = std::tuple<std::string, int, std::string>;                   // model, opset, target
using Counted = std::tuple<Scope, std::string, std::string, std::string>;  // rule, operator, module
using Counts = std::map<Counted, int>;                                     // nodes

std::string name_of(const AllowEntry& entry) {
  std::string name = entry.op;
  if (!entry.rule.empty()) name += (name.empty() ? "" : ", ") + entry.rule;
  return entry.module.empty() ? name : name + " in " + entry.module;
}

bool names_one_model(const AllowEntry& entry) {
  return !entry.model.empty() && entry.model.find_first_of("*?[") == std::string::npos;
}

// The same file by whatever words.
std::string plain(const std::string& model) { return std::filesystem::path(model).lexically_normal().string(); }

std::string op_of(const Finding& finding) { return finding.overload.empty() ? finding.op : finding.op + "." + finding.overload; }

Finding run_finding(const char* id, std::string message, std::string help) {
  Finding finding;
  finding.id = id;
  finding.severity = analysis::find_rule(id)->severity;
  finding.message = std::move(message);
  finding.help = std::move(help);
  return finding;
}

// Nodes that stand at none of the finding's sites belong to the model as a whole, whose module has no name.
int without_site(const Finding& finding) {
  return static_cast<int>(std::max<std::int64_t>(finding.nodes - std::ssize(finding.sites), 0));
}

// One finding, parted: each site and each node is in one of the two.
struct Parted {
  std::optional<Finding> inside, outside;
};

Parted part(Finding finding, const std::string& module) {
  const bool of_model = policy::matches(module, "");
  if (finding.sites.empty()) return of_model ? Parted{std::move(finding), {}} : Parted{{}, std::move(finding)};
  const auto is_inside = [&](const Site& site) { return policy::matches(module, site.module); };
  const auto middle = std::stable_partition(finding.sites.begin(), finding.sites.end(), is_inside);
  std::int64_t nodes = of_model ? without_site(finding) : 0;
  nodes += middle - finding.sites.begin();
  const bool any = middle != finding.sites.begin() || nodes > 0,
             all = middle == finding.sites.end() && (of_model || without_site(finding) == 0);
  if (!any) return {{}, std::move(finding)};
  if (all) return {std::move(finding), {}};
  Finding inside = finding;
  inside.sites.erase(inside.sites.begin() + (middle - finding.sites.begin()), inside.sites.end());
  finding.sites.erase(finding.sites.begin(), middle);
  inside.nodes = static_cast<int>(std::min<std::int64_t>(nodes, finding.nodes));
  finding.nodes -= inside.nodes;
  return {std::move(inside), std::move(finding)};
}

void add(int& sum, int nodes) {
  sum = nodes > std::numeric_limits<int>::max() - sum ? std::numeric_limits<int>::max() : sum + nodes;
}

void take_larger(Counts& counts, const Counted& counted, int nodes) {
  int& largest = counts[counted];
  largest = std::max(largest, nodes);
}

Counts counts_of(const Baseline& baseline) {
  Counts counts;
  for (const auto& entry : baseline.entries())
    take_larger(counts, {{plain(entry.model), entry.opset, entry.target}, entry.rule, entry.op, entry.module}, entry.nodes);
  return counts;
}

}  // namespace

struct Policy::State {
  struct Use {
    bool judged = false;  // the run has a report of which the entry speaks
    bool used = false;
    bool in_shadow = false;  // an earlier entry took what it speaks of
  };

  PolicyOptions options;
  std::vector<Use> uses;          // one for each allow entry
  Counts known, replaced, found;  // in the baselines, in those to be replaced, and in this run
  std::set<Scope> scopes;         // scopes of this run

  void set_severities(std::vector<Finding>& findings) const;
  void allow(Report& report);
  bool in_known(const Finding& finding, const Scope& scope) const;
  void find_shadows(const Report& report, const std::vector<Finding>& parts);
  std::vector<Finding> allowed_parts(Finding finding, const Report& report, std::set<std::size_t>& expired);
  void compare(Report& report);
  BaselineState state_of(const Finding& finding, const Scope& scope, Counts& counts) const;
  void judge(Report& report) const;
  std::vector<Finding> left_over() const;
};

void Policy::State::set_severities(std::vector<Finding>& findings) const {
  std::erase_if(findings, [&](Finding& finding) {
    const auto& rules = options.configuration.rules;
    const auto last = std::find_if(rules.rbegin(), rules.rend(),
                                   [&](const RuleSetting& rule) { return policy::matches(rule.rule, finding.id); });
    if (last == rules.rend() || finding.severity == Severity::error) return false;  // an error keeps the model from converting
    if (last->severity) finding.severity = *last->severity;
    return !last->severity;
  });
}

// Returns the parts of a finding that entries allow, each with its reason, and last the rest.
std::vector<Finding> Policy::State::allowed_parts(Finding finding, const Report& report, std::set<std::size_t>& expired) {
  const auto& entries = options.configuration.allow;
  std::vector<Finding> parts;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const AllowEntry& entry = entries[i];
    if (!policy::applies_to(entry, report) || !policy::applies_to(entry, finding)) continue;
    const bool over = entry.expires && *entry.expires < options.today;
    Parted parted = part(over ? finding : std::move(finding), entry.module);
    if (parted.inside) uses[i].used = true;
    if (over) {
      if (parted.inside) expired.insert(i);
      continue;
    }
    if (parted.inside) {
      parted.inside->suppressed =
          Suppression{entry.reason + (entry.owner.empty() ? "" : " (" + entry.owner + ")"), entry.expires, entry.source};
      parts.push_back(*std::move(parted.inside));
    }
    if (!parted.outside) {
      find_shadows(report, parts);
      return parts;
    }
    finding = *std::move(parted.outside);
  }
  parts.push_back(std::move(finding));
  find_shadows(report, parts);
  return parts;
}

// `parts`: of one finding.
void Policy::State::find_shadows(const Report& report, const std::vector<Finding>& parts) {
  const auto& entries = options.configuration.allow;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (uses[i].used || uses[i].in_shadow || !policy::applies_to(entries[i], report) ||
        !policy::applies_to(entries[i], parts.front()))
      continue;
    uses[i].in_shadow = std::ranges::any_of(
        parts, [&](const Finding& accepted) { return accepted.suppressed && part(accepted, entries[i].module).inside; });
  }
}

void Policy::State::allow(Report& report) {
  const auto& entries = options.configuration.allow;
  for (std::size_t i = 0; i < entries.size(); ++i)
    uses[i].judged |= (!options.partial || names_one_model(entries[i])) && policy::applies_to(entries[i], report);
  std::vector<Finding> findings;
  std::set<std::size_t> expired;
  for (auto& finding : report.findings)
    for (auto& part : allowed_parts(std::move(finding), report, expired)) findings.push_back(std::move(part));
  std::vector<Finding> over;
  for (const std::size_t i : expired) {
    const AllowEntry& entry = entries[i];
    over.push_back(run_finding("CC902",
                               entry.source + ": the entry for " + name_of(entry) + " expired after " + *entry.expires +
                                   " (reason: " + entry.reason + ")",
                               "fix the finding, or set a later day in `expires`"));
    over.back().op = entry.op;
  }
  set_severities(over);
  std::ranges::move(over, std::back_inserter(findings));
  report.findings = std::move(findings);
}

// Adds the finding to what was counted of its report.
BaselineState Policy::State::state_of(const Finding& finding, const Scope& scope, Counts& counts) const {
  std::map<std::string, int> modules;
  for (const Site& site : finding.sites) add(modules[site.module], 1);
  if (const int nodes = finding.sites.empty() ? std::max(finding.nodes, 1) : without_site(finding)) add(modules[""], nodes);
  bool any = false, more = false;
  for (const auto& [module, nodes] : modules) {
    const Counted counted{scope, finding.id, op_of(finding), module};
    int& sum = counts[counted];
    add(sum, nodes);
    const auto before = known.find(counted);
    any |= before != known.end();
    more |= before == known.end() || before->second < sum;
  }
  return options.accept_all || !more ? BaselineState::unchanged : any ? BaselineState::grown : BaselineState::added;
}

// A note that failed the gate when the baseline was written.
bool Policy::State::in_known(const Finding& finding, const Scope& scope) const {
  const auto first = known.lower_bound({scope, finding.id, op_of(finding), {}});
  return first != known.end() && std::tie(std::get<0>(first->first), std::get<1>(first->first), std::get<2>(first->first)) ==
                                     std::tuple(scope, finding.id, op_of(finding));
}

void Policy::State::compare(Report& report) {
  if (!options.baseline && !options.accept_all) return;
  const std::string model = plain(report.model.path);
  scopes.insert({model, report.opset, ""});
  for (const auto& target : report.targets) scopes.insert({model, report.opset, target.target});
  Counts counts;
  for (auto& finding : report.findings) {
    const Scope scope{model, report.opset, finding.target.value_or("")};
    if (finding.suppressed || finding.id.starts_with("CC9")) continue;
    if (finding.severity == Severity::note && !analysis::violates(finding, report.gate.fail_on) && !in_known(finding, scope))
      continue;
    finding.baseline = state_of(finding, scope, counts);
    if (finding.baseline == BaselineState::unchanged)
      finding.suppressed = Suppression{"in the baseline", std::nullopt, options.baseline_source};
  }
  for (const auto& [counted, nodes] : counts) take_larger(found, counted, nodes);  // a model met twice is one model
}

void Policy::State::judge(Report& report) const {
  analysis::sort(report.findings);
  report.gate = analysis::judge(report, report.gate);
  report.exit_code = report.gate.passed || options.exit_zero ? exit_passed : exit_findings;
}

std::vector<Finding> Policy::State::left_over() const {
  std::vector<Finding> findings;
  const auto& entries = options.configuration.allow;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!uses[i].judged || uses[i].used) continue;
    findings.push_back(run_finding(
        "CC901",
        entries[i].source +
            (uses[i].in_shadow ? ": an earlier entry matches every finding of " : ": no finding matches the entry for ") +
            name_of(entries[i]),
        "remove the entry"));
    findings.back().op = entries[i].op;
  }
  const auto too_high = std::count_if(known.begin(), known.end(), [&](const auto& entry) {
    const auto now = found.find(entry.first);
    return scopes.contains(std::get<0>(entry.first)) && (now == found.end() ? 0 : now->second) < entry.second;
  });
  if (too_high && !options.accept_all)
    findings.push_back(
        run_finding("CC904",
                    std::to_string(too_high) + (too_high == 1 ? " entry of " : " entries of ") + options.baseline_source +
                        (too_high == 1 ? " allows" : " allow") + " more nodes than this run found",
                    std::string("add --prune-baseline to lower or remove ") + (too_high == 1 ? "this entry" : "these entries")));
  return findings;
}

Policy::Policy(PolicyOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  if (state_->options.today.empty()) state_->options.today = process::today();
  state_->uses.resize(state_->options.configuration.allow.size());
  if (state_->options.baseline) state_->known = counts_of(*state_->options.baseline);
  state_->replaced = counts_of(state_->options.replaced);
}
Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;

void Policy::apply(Report& report) {
  if (report.error) return;
  analysis::guarded("the configuration", [&] {
    state_->set_severities(report.findings);
    state_->allow(report);
    state_->compare(report);
    state_->judge(report);
  });
}

void Policy::finish(std::span<Report> reports) {
  if (reports.empty() || reports.back().error) return;
  auto findings = state_->left_over();
  state_->set_severities(findings);
  const Report& last = reports.back();
  for (Report& report : reports) {
    if (&report != &last && (!last.gate.one_opset_is_enough || report.error || report.model.path != last.model.path)) continue;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
    state_->judge(report);
  }
}

Baseline Policy::baseline_of_run() const {
  Counts counts;
  const auto is_judged = [&](const Counted& counted) { return state_->scopes.contains(std::get<0>(counted)); };
  for (const auto* earlier : {&state_->replaced, &state_->known})
    for (const auto& [counted, nodes] : *earlier)
      if (!is_judged(counted)) counts.emplace(counted, nodes);
  for (const auto& [counted, nodes] : state_->found) {
    const auto before = state_->known.find(counted);
    if (state_->options.accept_all)
      counts[counted] = nodes;
    else if (before != state_->known.end())
      counts[counted] = std::min(nodes, before->second);
  }
  std::vector<Baseline::Entry> entries;
  for (const auto& [counted, nodes] : counts) {
    const auto& [scope, rule, op, module] = counted;
    const auto& [model, opset, target] = scope;
    if (nodes > 0) entries.push_back({model, opset, target, rule, op, module, nodes});
  }
  return Baseline(std::move(entries));
}

}  // namespace compatcheck
