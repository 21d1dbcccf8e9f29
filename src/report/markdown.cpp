#include "report/markdown.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/assumed.h"
#include "report/enumerator_names.h"
#include "report/occurrences.h"
#include "report/page.h"
#include "report/printable.h"
#include "report/report_text.h"
#include "report/style.h"
#include "report/totals.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t most_places = 100;

Table classes(const Report& report) {
  Table table{"Operators", {"class", "operators", "nodes", "ONNX nodes"}, {}};
  for (const auto& [name, operator_class] :
       {std::pair{"one-to-one", OperatorClass::one_to_one}, std::pair{"one-to-many", OperatorClass::one_to_many},
        std::pair{"missing", OperatorClass::missing}}) {
    long long operators = 0, nodes = 0, emitted = 0;
    for (const auto& op : report.operators) {
      if (op.operator_class != operator_class) continue;
      ++operators;
      nodes += op.nodes;
      emitted += emitted_nodes(op);
    }
    table.rows.push_back({{name, number(operators), number(nodes), number(emitted)}});
  }
  return table;
}

std::string state_of_finding(const Finding& finding) {
  if (finding.suppressed) return "allowed: " + finding.suppressed->reason + " (" + finding.suppressed->source + ")";
  std::string text(word(finding.severity));
  if (finding.baseline == BaselineState::added) text += ", new";
  if (finding.baseline == BaselineState::grown) text += ", more than before";
  return text;
}

std::vector<std::string> places(const Finding& finding) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(finding.sites.size(), most_places); ++i) lines.push_back(place(finding.sites[i]));
  if (finding.sites.size() > most_places)
    lines.push_back("(+" + number(static_cast<long long>(finding.sites.size() - most_places)) + ")");
  return lines;
}

Table findings_table(const Report& report) {
  Table table{"Findings", {"rule", "severity", "operator", "nodes", "what", "what to do"}, {}, "place"};
  for (const Finding& finding : report.findings) {
    std::string what = finding.message, advice = finding.help;
    if (finding.target) what = *finding.target + ": " + what;
    if (finding.available_from) what += " (from opset " + std::to_string(*finding.available_from) + ")";
    if (!finding.row.empty()) advice += " " + finding.row;
    table.rows.push_back(
        {{finding.id, state_of_finding(finding), full_name(finding.op, finding.overload), number(finding.nodes), what, advice},
         places(finding)});
  }
  return table;
}

Table assumed_table(const Report& report) {
  Table table{"Assumed inputs (--input overrides)", {"input", "because"}, {}};
  for (const AssumedInput& input : report.model.assumed) {
    std::string because;
    for (const auto& each : input.because) because += (because.empty() ? "" : "; ") + reason(each);
    table.rows.push_back({{assumption(input), because}});
  }
  return table;
}

Table engines(const Report& report) {
  Table table{"Engines",
              {"engine", "supports the model", "nodes", "unsupported", "unknown", "partitions", "older forms", "lowest opset",
               "profile of"},
              {}};
  for (const TargetSummary& each : report.targets)
    table.rows.push_back(
        {{each.target, std::string(word(each.support)), number(each.nodes), number(each.unsupported), number(each.unknown),
          number(each.partitions), number(calls_in_older_forms(each)), lowest_opset_words(report, each), each.date}});
  return table;
}

Page report_page_of(const Report& report, const ModelNames& names) {
  if (report.error) return {names.of(report) + " · not checked", {*report.error}, {}};
  const std::string type = report.export_type == ExportType::onnx ? "" : " · " + std::string(word(report.export_type));
  Page page{names.of(report) + " · opset " + std::to_string(report.opset) + type + " · " + verdict_name(report),
            {headline(report)},
            {}};
  page.lines.push_back("Findings: " + spell(counts_of(report)) + ". The gate " + (report.gate.passed ? "passes" : "fails") +
                       " (" + gate_options(report) + ").");
  if (report.targets.size() > 1)
    page.lines.push_back("Lowest opset that all engines support: " + targets_lowest_opset_words(report) + ".");
  page.tables = {classes(report), engines(report), findings_table(report), assumed_table(report)};
  return page;
}

TableRow overview_row(const Report& report, const ModelNames& names) {
  if (report.error) return {{names.of(report), "", "not checked", "", "", "", "", "", "", ""}};
  const FindingCounts counts = counts_of(report);
  const auto converted = static_cast<long long>(std::llround(report.summary.coverage_nodes * report.summary.nodes));
  return {{names.of(report), std::to_string(report.opset), verdict_name(report),
           number(converted) + " of " + number(report.summary.nodes), lowest_opset_words(report), number(counts.errors),
           number(counts.warnings), number(counts.notes), number(counts.suppressed), report.gate.passed ? "passes" : "fails"}};
}

Page overview(std::span<const Report> reports, const ModelNames& names) {
  const Totals totals = totals_of(reports);
  Page page{number(totals.yes) + " of " + count(totals.models, "model") + " convertible", {}, {}};
  page.lines.push_back(number(totals.no) + " not convertible · " + number(totals.needs_input) + " need input · " +
                       number(totals.not_checked) + " not checked");
  Table table{
      "Models",
      {"model", "opset", "verdict", "nodes that convert", "lowest opset", "errors", "warnings", "notes", "suppressed", "gate"},
      {}};
  for (const Report& report : reports) table.rows.push_back(overview_row(report, names));
  Table missing{"Missing in most models", {"operator", "models", "nodes"}, {}};
  for (const auto& op : totals.missing) missing.rows.push_back({{op.op, number(op.models), number(op.nodes)}});
  page.tables = {std::move(table), std::move(missing)};
  return page;
}

}  // namespace

std::string markdown(std::span<const Report> given) {
  std::vector<Report> reports;
  std::ranges::transform(given, std::back_inserter(reports), printable_report);
  const ModelNames names(reports);
  if (reports.size() == 1) return markdown(report_page_of(reports.front(), names));
  std::string all = markdown(overview(reports, names));
  for (const Part& part : parts_of(reports))
    if (!part.target) all += "\n" + markdown(report_page_of(*part.report, names));
  return all;
}

}  // namespace compatcheck::report
