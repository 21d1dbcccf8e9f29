#include "report/phrases.h"

#include <cmath>
#include <vector>

#include "report/style.h"

namespace compatcheck::report {

std::string full_name(const std::string& op, const std::string& overload) { return overload.empty() ? op : op + "." + overload; }

std::string file_name(const Report& report) { return report.model.path.substr(report.model.path.find_last_of('/') + 1); }

std::string verdict_name(const Report& report) {
  if (report.error) return "not checked";
  switch (report.verdict) {
    case Verdict::yes: return "convertible";
    case Verdict::no: return "not convertible";
    case Verdict::needs_input: return "needs input";
  }
  return {};
}

std::string headline(const Report& report) {
  const Summary& summary = report.summary;
  std::vector<std::string> parts;
  if (summary.missing) parts.push_back(number(summary.missing) + " of " + count(summary.operators, "operator") + " missing");
  if (summary.refused) parts.push_back(count(summary.refused, "operator") + " refused");
  if (summary.needs_input) parts.push_back(count(summary.needs_input, "operator") + " undecided without --input");
  if (parts.empty()) parts.push_back(count(summary.operators, "operator"));
  const auto blocked = static_cast<long long>(std::llround((1.0 - summary.coverage_nodes) * summary.nodes)) - summary.kept;
  parts.push_back(blocked ? number(blocked) + " of " + count(summary.nodes, "node") : count(summary.nodes, "node"));
  if (summary.kept) parts.push_back(number(summary.kept) + " kept as PyTorch's operators");
  if (summary.lowest_opset && *summary.lowest_opset > report.opset)
    parts.push_back("converts whole from opset " + std::to_string(*summary.lowest_opset));
  else if (summary.lowest_opset && report.convertible())
    parts.push_back("lowest opset " + std::to_string(*summary.lowest_opset));
  std::string line;
  for (const auto& part : parts) line += (line.empty() ? "" : " · ") + part;
  return line;
}

std::string sentence(const Finding& finding) {
  std::string text = finding.message;
  if (finding.available_from) text += " (from opset " + std::to_string(*finding.available_from) + ")";
  if (!finding.help.empty()) text += "; " + finding.help;
  return finding.row.empty() ? text : text + " " + finding.row;
}

std::string place(const Site& site) {
  std::string text = site.file.empty() ? "(no source recorded)" : site.file + (site.line ? ":" + std::to_string(site.line) : "");
  if (!site.function.empty()) text += " in " + site.function;
  if (!site.module.empty()) text += " · " + site.module;
  return text + " · " + site.args;
}

void FindingCounts::add(const Finding& finding) {
  if (finding.suppressed) ++suppressed;
  else if (finding.severity == Severity::error) ++errors;
  else if (finding.severity == Severity::warning) ++warnings;
  else ++notes;
}

FindingCounts counts_of(const Report& report) {
  FindingCounts counts;
  for (const Finding& finding : report.findings) counts.add(finding);
  return counts;
}

std::string spell(const FindingCounts& counts) {
  std::string text;
  const auto add = [&](int findings, const std::string& spelled) {
    if (findings) text += (text.empty() ? "" : " · ") + spelled;
  };
  add(counts.errors, count(counts.errors, "error"));
  add(counts.warnings, count(counts.warnings, "warning"));
  add(counts.notes, count(counts.notes, "note"));
  add(counts.suppressed, number(counts.suppressed) + " suppressed");
  return text.empty() ? "no findings" : text;
}

}  // namespace compatcheck::report
