#include "analysis/targets.h"

#include <algorithm>
#include <tuple>

#include "analysis/engine_reports.h"
#include "analysis/note_forms.h"
#include "analysis/onnx_model.h"
#include "analysis/site.h"
#include "engines/age.h"
#include "engines/targets.h"
#include "onnx/proto.h"
#include "process/day.h"

namespace compatcheck::analysis {
namespace {

using engines::Look;
using engines::Looked;

// Support of nodes written as PyTorch's operators: refused and missing ones are unsupported; unassessed ones and those that
// need inputs are unknown.
engines::Kept kept_of(const conversion::Assessment& assessment, const std::unordered_set<const ir::Node*>& nodes) {
  engines::Kept kept;
  for (const ir::Node* node : nodes) kept.emplace(node, Support::no);
  for (const auto& outcome : assessment.outcomes)
    if (outcome.status == conversion::Status::unassessed || outcome.status == conversion::Status::needs_input)
      if (const auto found = kept.find(outcome.node); found != kept.end()) found->second = Support::unknown;
  return kept;
}

bool is_shipped_operator(const std::string& op) {
  static const schema::Registry shipped;
  return shipped.contains(op);
}

std::string settling(engines::SettledBy settled_by) {
  switch (settled_by) {
    case engines::SettledBy::nothing: return {};
    case engines::SettledBy::inputs: return "state the dtypes and sizes with --input";
    case engines::SettledBy::values: return "state the sizes with --input, if the value depends on them";
  }
  return {};
}

}  // namespace

Targets::Targets(const Model::State& state, const Prepared& prepared, conversion::Assessor& assessor,
                 conversion::FormTable& forms, const CheckOptions& options, const CleanUp& clean_up, const ir::Watch& watch)
    : state_(state),
      prepared_(prepared),
      assessor_(assessor),
      forms_(forms),
      options_(options),
      clean_up_(clean_up),
      watch_(watch),
      profiles_(engines::profiles_of(options.targets)) {}

// As convert would write it; of a model that doesn't convert, with PyTorch's own operators in the places of what doesn't.
Targets::Made Targets::make(const conversion::Assessment& assessment, int opset) {
  const bool converts = assessment.convertible();
  Made made;
  ConvertOptions options = convert_options(options_, opset, clean_up_);
  if (!converts) options.export_type = ExportType::onnx_fallthrough;
  try {
    if (!converts && !fallthrough_) {
      fallthrough_context_.emplace(context_of(state_, prepared_, watch_, ExportType::onnx_fallthrough));
      fallthrough_.emplace(prepared_.graph, *fallthrough_context_);
    }
    if (!converts && !fallthrough_->assess(opset).convertible()) {
      made.fault = "some nodes become neither ONNX operators nor PyTorch's operators";
      return made;
    }
    std::vector<conversion::Stand> stands;
    made.model = onnx_model(state_, prepared_, options, watch_, &stands);
    onnx::infer_shapes(*made.model, known_shapes(*made.model, stands, prepared_.facts));  // limits speak of ranks and sizes
    if (!converts)
      made.kept = kept_of(assessment, fallthrough_->kept(opset));
    else if (options_.export_type != ExportType::onnx)
      made.kept = kept_of(assessment, assessor_.kept(opset));
  } catch (const TableError&) {
    throw;
  } catch (const Error& error) {
    watch_.look();  // throws if the time limit or a cancellation ended the call
    made.model.reset();
    made.fault = error.what();
    return made;
  }
  for (const auto& profile : profiles_)
    made.looks.push_back(engines::look_at(*made.model, profile, state_.table.onnx_changes(), made.kept));
  return made;
}

bool Targets::any_in_range(int opset) const {
  return std::ranges::any_of(profiles_, [&](const auto& profile) { return !profile.opsets || profile.opsets->holds(opset); });
}

// Leaves the forms in the table.
Targets::Chosen Targets::choose(int opset) {
  Chosen chosen;
  forms_.at.erase(opset);
  const auto assessment = assessor_.assess(opset);
  const bool may_choose = assessment.convertible() && options_.export_type != ExportType::raw && any_in_range(opset);
  if (!may_choose) return chosen;
  const auto look = [&]() -> std::span<const engines::Look> {
    watch_.look();
    chosen.made = make(assessment, opset);
    return chosen.made.looks;
  };
  FormChoice choice(assessor_, forms_.at[opset], opset, look);
  choice.choose();
  chosen.replaced = choice.replaced();
  chosen.conflicts = choice.conflicts();
  return chosen;
}

void Targets::choose_forms(int opset) { chosen_ = choose(opset); }

void Targets::remember(int opset, const Made& made, bool converts) {
  std::vector<Seen> all(profiles_.size());
  for (std::size_t i = 0; i < made.looks.size(); ++i) {
    const Look& look = made.looks[i];
    Seen& seen = all[i];
    seen.in_range = converts && look.out_of_range.empty();
    seen.nodes = static_cast<int>(look.nodes.size());
    for (const Looked& one : look.nodes) {
      if (one.verdict.support == Support::yes) continue;
      ++(one.verdict.support == Support::no ? seen.cost.unsupported : seen.cost.unknown);
      seen.blocked.insert(one.node->origin);
    }
  }
  seen_.insert_or_assign(opset, std::move(all));
}

const std::vector<Targets::Seen>& Targets::at(int opset) {
  if (const auto found = seen_.find(opset); found != seen_.end()) return found->second;
  watch_.look();
  const Chosen chosen = choose(opset);
  remember(opset, chosen.made, chosen.made.model.has_value());
  return seen_.at(opset);
}

std::optional<int> Targets::lowest(std::size_t target) {
  for (int opset = lowest_opset; opset <= highest_opset; ++opset)
    if (at(opset)[target].all_supported()) return opset;
  return std::nullopt;
}

std::optional<int> Targets::lowest_of_all() {
  for (int opset = lowest_opset; opset <= highest_opset; ++opset)
    if (std::ranges::all_of(at(opset), &Seen::all_supported)) return opset;
  return std::nullopt;
}

// Among equals, the opset that was asked for comes first, then that with the fewest nodes, then the newest.
std::optional<int> Targets::best(std::size_t target, int asked) {
  std::optional<int> found;
  const auto rank = [&](int opset) {
    const Seen& seen = at(opset)[target];
    return std::tuple(seen.cost, opset != asked, seen.nodes, -opset);
  };
  for (int opset = lowest_opset; opset <= highest_opset; ++opset)
    if (at(opset)[target].in_range && (!found || rank(opset) < rank(*found))) found = opset;
  return found;
}

// Whether the model converts at the opset, the engine supports models of that opset, and it supports every node that these
// calls became.
bool Targets::gone(int opset, std::size_t target, const Origins& origins) {
  if (profiles_[target].opsets && !profiles_[target].opsets->holds(opset)) return false;
  const Seen& seen = at(opset)[target];
  return seen.in_range && std::ranges::none_of(origins, [&](const ir::Node* origin) { return seen.blocked.contains(origin); });
}

std::optional<int> Targets::higher(int opset, std::size_t target, const Origins& origins) {
  for (int other = opset + 1; other <= highest_opset; ++other)
    if (gone(other, target, origins)) return other;
  return std::nullopt;
}

std::optional<int> Targets::lower(int opset, std::size_t target, const Origins& origins) {
  for (int other = opset - 1; other >= lowest_opset; --other)
    if (gone(other, target, origins)) return other;
  return std::nullopt;
}

TargetSummary Targets::summarize(std::size_t target, int opset, const Look* look) {
  TargetSummary summary = summary_of(profiles_[target], look);
  summary.lowest_opset = lowest(target);
  summary.best_opset = at(opset)[target].all_supported() ? opset
                       : summary.lowest_opset            ? summary.lowest_opset
                                                         : best(target, opset);
  return summary;
}

std::string Targets::help(std::size_t target, const Finding& finding, const Looked& node, int opset, const Origins& origins) {
  std::vector<std::string> opsets, ways;
  if (finding.available_from)
    opsets.push_back("--opset " + std::to_string(*finding.available_from));
  else if (const auto other = lower(opset, target, origins))
    opsets.push_back("--opset " + std::to_string(*other));
  if (const std::string settled = settling(node.verdict.settled_by); !settled.empty())
    ways.push_back(settled);
  else if (finding.op == "prim::OptionalConstruct" && node.verdict.support == Support::no)
    ways.push_back("return a tensor in each case, for example an empty one, and a bool that says whether it counts");
  else if (const bool unlisted = node.verdict.support == Support::unknown && node.name.find("::") != std::string::npos;
           !finding.op.empty() && (node.verdict.support == Support::no || unlisted))
    ways.push_back(std::string(unlisted ? "unless the engine registers it, " : "") + "add a mapping row that avoids " +
                   node.name + ": `compatcheck explain " + finding.op +
                   (is_shipped_operator(finding.op) ? "" : " " + state_.path) + " --scaffold inline` prints one to start from");
  return help_for(profiles_[target], node, std::move(opsets), ways);
}

void Targets::find(std::size_t target, const Look& look, int opset, const std::map<const ir::Node*, std::uint32_t>& places,
                   std::vector<Finding>& findings) {
  struct Found {
    Finding finding;
    const Looked* first = nullptr;
    Origins origins;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, Found> all;
  for (const Looked& one : look.nodes) {
    const std::string& message = one.verdict.support == Support::yes ? one.verdict.note : one.verdict.message;
    if (one.foreign || message.empty()) continue;  // PyTorch's own operators have findings of their own
    watch_.step();
    const auto place = places.find(one.node->origin);
    const ir::Node* origin = place == places.end() ? nullptr : place->first;  // the call that became it
    const std::string op = origin ? origin->op() : "", overload = origin ? origin->overload() : "";
    auto [entry, fresh] = all.try_emplace({one.verdict.rule, op, overload, one.name, message});
    Found& found = entry->second;
    if (fresh) {
      found.finding = finding_of_target(profiles_[target], one.verdict.rule,
                                        one.verdict.support == Support::yes ? one.name + ": " + message : message);
      found.finding.op = op;
      found.finding.overload = overload;
      if (one.verdict.support == Support::yes) found.finding.severity = Severity::note;
      found.first = &one;
    }
    if (!found.origins.insert(one.node->origin).second && origin) continue;
    ++found.finding.nodes;
    if (origin) found.finding.sites.push_back(site_of(*origin, place->second));
  }
  for (auto& [key, found] : all) {
    if (found.finding.severity == Severity::warning) {
      found.finding.available_from = higher(opset, target, found.origins);
      found.finding.help = help(target, found.finding, *found.first, opset, found.origins);
    }
    findings.push_back(std::move(found.finding));
  }
}

void Targets::find_forms(std::size_t target, const std::map<const ir::Node*, std::uint32_t>& places, TargetSummary& summary,
                         std::vector<Finding>& findings) {
  std::vector<WrittenForm> forms;
  for (const ReplacedForm& replaced : chosen_.replaced) {
    const auto& limit = replaced.limits[target];
    const auto place = places.find(replaced.node);
    if (!limit || place == places.end()) continue;
    forms.push_back({.op = replaced.node->op(),
                     .overload = replaced.node->overload(),
                     .opset = replaced.form,
                     .text = "the form of opset " + std::to_string(replaced.form),
                     .newer = replaced.newer,
                     .older = replaced.older,
                     .limit = *limit,
                     .site = site_of(*replaced.node, place->second)});
  }
  note_forms(profiles_[target].target(), std::move(forms), summary, findings);
}

void Targets::find_conflicts(const std::map<const ir::Node*, std::uint32_t>& places, std::vector<Finding>& findings) {
  std::vector<FormConflict> conflicts;
  for (const Conflict& conflict : chosen_.conflicts)
    if (const auto place = places.find(conflict.node); place != places.end())
      conflicts.push_back({.first = profiles_[conflict.first].target(),
                           .second = profiles_[conflict.second].target(),
                           .op = conflict.node->op(),
                           .overload = conflict.node->overload(),
                           .site = site_of(*conflict.node, place->second)});
  note_conflicts(std::move(conflicts), findings);
}

void Targets::look(Report& report, const conversion::Assessment& assessment, std::vector<Finding>& findings) {
  Made& made = chosen_.made;
  if (!made.model && made.fault.empty()) made = make(assessment, report.opset);
  remember(report.opset, made, assessment.convertible());
  std::map<const ir::Node*, std::uint32_t> places;
  std::uint32_t index = 0;
  for (const auto& outcome : assessment.outcomes) places.emplace(outcome.node, index++);
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    const Look* look = made.model ? &made.looks[i] : nullptr;
    report.targets.push_back(summarize(i, report.opset, look));
    if (auto note = engines::note_on_age(profiles_[i], process::today())) findings.push_back(*std::move(note));
    if (!look) {
      findings.push_back(finding_of_target(profiles_[i], "CC105", "no ONNX model could be made to check: " + made.fault));
    } else if (!look->out_of_range.empty()) {
      Finding finding = finding_of_target(profiles_[i], "CC102", look->out_of_range);
      finding.nodes = report.targets.back().nodes;
      finding.available_from = higher(report.opset, i, {});
      if (const auto other = finding.available_from ? finding.available_from : lower(report.opset, i, {}))
        finding.help = "--opset " + std::to_string(*other);
      findings.push_back(std::move(finding));
    } else {
      find(i, *look, report.opset, places, findings);
      find_forms(i, places, report.targets.back(), findings);
    }
  }
  find_conflicts(places, findings);
  report.targets_lowest_opset = lowest_of_all();
}

}  // namespace compatcheck::analysis
