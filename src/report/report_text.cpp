#include "report/report_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/enumerator_names.h"
#include "report/style.h"

namespace compatcheck::report {

std::string full_name(const std::string& op, const std::string& overload) { return overload.empty() ? op : op + "." + overload; }

bool is_of_run(const Finding& finding) { return finding.id == "CC901" || finding.id == "CC904"; }

std::string verdict_name(const Report& report) {
  if (report.error) return "not checked";
  if (is_onnx(report)) return "ONNX model";
  switch (report.verdict) {
    case Verdict::yes: return "convertible";
    case Verdict::no: return "not convertible";
    case Verdict::needs_input: return "needs input";
  }
  return {};
}

long long emitted_nodes(const OperatorSummary& op) {
  long long nodes = 0;
  for (const auto& [onnx, count] : op.emitted) nodes += count;
  return nodes;
}

std::string emission_words(const OperatorSummary& op) {
  const long long nodes = emitted_nodes(op), calls = op.nodes - op.blocked;
  return nodes == 0 || nodes == calls ? std::string() : count(calls, "call") + " → " + count(nodes, "node");
}

bool is_onnx(const Report& report) {
  return report.model.format == "onnx" && report.convertible() && !report.summary.lowest_opset;
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
    parts.push_back("converts from opset " + std::to_string(*summary.lowest_opset));
  else if (summary.lowest_opset && report.convertible())
    parts.push_back("lowest opset " + std::to_string(*summary.lowest_opset));
  std::string line;
  for (const auto& part : parts) line += (line.empty() ? "" : " · ") + part;
  return line;
}

std::string gate_options(const Report& report) {
  const Gate& gate = report.gate;
  return "--fail-on " + std::string(word(gate.fail_on)) +
         (gate.max_missing ? ", --max-missing " + std::to_string(*gate.max_missing) : "");
}

namespace {

std::string opset(const std::optional<int>& lowest, bool known) {
  return lowest ? std::to_string(*lowest) : known ? "none" : "not known";
}

// Whether no opset helps: a call that fails at every opset decides it, whatever depends on the call or on inputs.
bool is_decided(const Report& report) {
  const auto lasts = [](const Finding& finding) {
    return finding.severity == Severity::error && finding.id != "CC006" && !finding.target && !finding.available_from;
  };
  return (report.summary.needs_input == 0 && report.summary.unassessed == 0) || std::ranges::any_of(report.findings, lasts);
}

}  // namespace

std::string lowest_opset_words(const Report& report) {
  return is_onnx(report) ? "–" : opset(report.summary.lowest_opset, is_decided(report));
}

std::string lowest_opset_words(const Report& report, const TargetSummary& target) {
  if (is_onnx(report)) return "–";
  const bool never_converts = lowest_opset_words(report) == "none";
  return opset(target.lowest_opset, never_converts || (is_decided(report) && target.support != Support::unknown));
}

std::string targets_lowest_opset_words(const Report& report) {
  const bool known = std::ranges::any_of(
      report.targets, [&](const TargetSummary& target) { return lowest_opset_words(report, target) == "none"; });
  return opset(report.targets_lowest_opset, known);
}

int calls_in_older_forms(const TargetSummary& target) {
  int calls = 0;
  for (const auto& form : target.older_forms) calls += form.calls;
  return calls;
}

ModelNames::ModelNames(std::span<const Report> reports)
    : several_(
          std::ranges::any_of(reports, [&](const Report& report) { return report.model.path != reports.front().model.path; })) {}

std::string ModelNames::of(const Report& report) const {
  const std::string& path = report.model.path;
  return several_ ? path : path.substr(path.find_last_of('/') + 1);
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
  if (finding.suppressed)
    ++suppressed;
  else if (finding.severity == Severity::error)
    ++errors;
  else if (finding.severity == Severity::warning)
    ++warnings;
  else
    ++notes;
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
  add(counts.suppressed, number(counts.suppressed) + " allowed");
  return text.empty() ? "no findings" : text;
}

}  // namespace compatcheck::report
