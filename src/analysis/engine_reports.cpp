#include "analysis/engine_reports.h"

#include <map>
#include <utility>

#include "mapping/row.h"

namespace compatcheck::analysis {

TargetSummary summary_of(const engines::Profile& profile, const engines::Look* look) {
  TargetSummary summary{.target = profile.target(),
                        .engine = profile.engine,
                        .version = profile.version,
                        .source = profile.source,
                        .date = profile.date,
                        .lowest_opset = {},
                        .operators = {}};
  if (!look) return summary;
  std::map<std::pair<std::string, Support>, int> operators;
  for (const engines::Looked& one : look->nodes) {
    ++summary.nodes;
    ++(one.verdict.support == Support::yes  ? summary.supported
       : one.verdict.support == Support::no ? summary.unsupported
                                            : summary.unknown);
    ++operators[{one.name, one.verdict.support}];
  }
  for (const auto& [op, nodes] : operators) summary.operators.push_back({op.first, op.second, nodes});
  summary.partitions = look->partitions;
  summary.support = summary.unsupported || !look->out_of_range.empty() ? Support::no
                    : summary.unknown                                  ? Support::unknown
                                                                       : Support::yes;
  return summary;
}

Finding finding_of_target(const engines::Profile& profile, std::string_view rule, std::string message) {
  Finding finding;
  finding.id = rule;
  finding.severity = Severity::warning;
  finding.message = std::move(message);
  finding.target = profile.target();
  return finding;
}

std::string help_for(const engines::Profile& profile, const engines::Looked& node, std::vector<std::string> before,
                     const std::vector<std::string>& after) {
  if (node.body_supported)
    before.push_back("replace the ONNX function " + node.name +
                     " by its body (onnx.inliner): the engine supports all nodes of the body");
  before.insert(before.end(), after.begin(), after.end());
  std::string text = mapping::joined(before, "; or ");
  if (!profile.fallback.empty() && node.verdict.support == Support::no)
    text += (text.empty() ? "" : "; otherwise ") + profile.fallback;
  return text;
}

}  // namespace compatcheck::analysis
