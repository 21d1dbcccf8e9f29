#include "report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "analysis/gate.h"
#include "analysis/rules.h"
#include "mapping/row.h"
#include "report/printable.h"
#include "report/style.h"
#include "report/totals.h"
#include "report/words.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t bar_width = 34;
constexpr std::size_t finding_indent = 9;

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

std::string verdict_words(const Report& report, const Style& style) {
  switch (report.verdict) {
    case Verdict::yes: return style(Color::green, style(Color::bold, "CONVERTIBLE"));
    case Verdict::no: return style(Color::red, style(Color::bold, "NOT CONVERTIBLE"));
    case Verdict::needs_input: return style(Color::yellow, style(Color::bold, "NEEDS INPUT"));
  }
  return {};
}

struct ClassLine {
  OperatorClass operator_class;
  const char* name;
  Color color;
};
constexpr std::array class_lines{ClassLine{OperatorClass::one_to_one, "one-to-one", Color::green},
                                 ClassLine{OperatorClass::one_to_many, "one-to-many", Color::cyan},
                                 ClassLine{OperatorClass::missing, "missing", Color::red}};

std::string bars(const Report& report, const Style& style) {
  std::map<OperatorClass, std::pair<int, int>> totals;  // operators, nodes
  int most = 1;
  for (const auto& op : report.operators) {
    auto& [operators, nodes] = totals[op.operator_class];
    ++operators;
    nodes += op.nodes;
    if (op.operator_class != OperatorClass::structural) most = std::max(most, operators);
  }
  std::string lines;
  for (const auto& line : class_lines) {
    const auto [operators, nodes] = totals[line.operator_class];
    std::size_t cells = static_cast<std::size_t>(operators) * bar_width / static_cast<std::size_t>(most);
    if (operators) cells = std::max<std::size_t>(cells, 1);
    std::string bar;
    for (std::size_t i = 0; i < cells; ++i) bar += "█";
    lines += "  " + pad_right(line.name, 12) + " " + style(line.color, bar) + std::string(bar_width - cells, ' ') + "  " +
             pad_left(count(operators, "operator"), 13) + "  " + pad_left(count(nodes, "node"), 13) + "\n";
  }
  return lines;
}

std::string place(const Site& site) {
  std::string text = site.file.empty() ? "(no source recorded)" : site.file + (site.line ? ":" + std::to_string(site.line) : "");
  if (!site.function.empty()) text += " in " + site.function;
  if (!site.module.empty()) text += " · " + site.module;
  return text + " · " + site.args;
}

std::string sites(const Finding& finding, const RenderOptions& options, const Style& style) {
  const std::string indent(finding_indent, ' ');
  const std::size_t room = options.width > finding_indent + 20 ? options.width - finding_indent : 20;
  const std::size_t shown = options.verbosity > 0 ? finding.sites.size() : std::min<std::size_t>(finding.sites.size(), 1);
  std::string lines;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t more = i + 1 == shown ? finding.sites.size() - shown : 0;
    const std::string rest = more ? "   (+" + number(static_cast<long long>(more)) + ")" : "";
    lines += indent + style(Color::dim, fit(place(finding.sites[i]), room - columns(rest)) + rest) + "\n";
  }
  return lines;
}

Color color_of(Severity severity) {
  return severity == Severity::error ? Color::red : severity == Severity::warning ? Color::yellow : Color::dim;
}

std::string when(const Finding& finding) {
  if (finding.available_from) return "from opset " + std::to_string(*finding.available_from);
  return finding.id == "CC001" ? "no opset" : "";
}

std::string finding_lines(const Finding& finding, const RenderOptions& options, const Style& style) {
  const std::string indent(finding_indent, ' ');
  const std::size_t room = options.width > finding_indent + 20 ? options.width - finding_indent : 20;
  std::string name = !finding.op.empty() && finding.id != "CC006" ? finding.op
                     : finding.id == "CC005" ? std::string("the model") : finding.id.starts_with("CC9") ? std::string("the run") : std::string("input");
  std::string lines = "  " + style(color_of(finding.severity), finding.id) + "  " + (finding.nodes ? style(Color::bold, pad_right(name, 30)) + " " + pad_left(count(finding.nodes, "node"), 10) : style(Color::bold, name));
  if (const auto from = when(finding); !from.empty()) lines += "   " + from;
  lines += "\n" + indent + wrap(finding.message, room, finding_indent) + "\n";
  lines += sites(finding, options, style);
  if (!finding.help.empty()) lines += indent + style(Color::cyan, "→ ") + wrap(finding.help, room - 2, finding_indent + 2) + "\n";
  if (!finding.row.empty()) lines += indent + "  " + finding.row + "\n";   // to be pasted: not broken
  return lines;
}

struct Section {
  const char* title;
  bool (*belongs)(const Finding&);
};
constexpr std::array sections{
    Section{"missing", [](const Finding& f) { return f.severity == Severity::error && analysis::is_missing(f.id); }},
    Section{"conditions", [](const Finding& f) { return f.severity == Severity::error && (f.id == "CC005" || f.id == "CC008"); }},
    Section{"writes", [](const Finding& f) { return f.id == "CC007"; }},
    Section{"needs input", [](const Finding& f) { return f.id == "CC006"; }},
    Section{"perhaps baked in by tracing", [](const Finding& f) { return f.id == "CC012"; }},
    Section{"warnings", [](const Finding& f) { return f.severity == Severity::warning; }},
    Section{"baseline", [](const Finding& f) { return f.id == "CC904"; }},
};

// --max-missing fails on what no finding says by itself.
bool fails_gate(const Finding& finding, const Report& report) {
  const auto violates = [&](const Finding& each) { return analysis::violates(each, report.gate.fail_on); };
  return violates(finding) || (finding.severity == Severity::error && std::ranges::none_of(report.findings, violates));
}

std::string findings(const Report& report, const RenderOptions& options, const Style& style) {
  std::string lines;
  for (const auto& section : sections) {
    std::string body;
    for (const auto& finding : report.findings) {
      if (finding.suppressed || !section.belongs(finding)) continue;
      if (options.quiet && !fails_gate(finding, report)) continue;
      body += finding_lines(finding, options, style);
    }
    if (!body.empty()) lines += "\n" + style(Color::bold, section.title) + "\n" + body;
  }
  return lines;
}

// What doesn't count, and why.
std::string allowed(const Report& report, const RenderOptions& options, const Style& style) {
  std::string lines;
  for (const auto& finding : report.findings) {
    if (!finding.suppressed) continue;
    const auto& [reason, expires, source] = *finding.suppressed;
    const std::string why = reason + (expires ? ", until " + *expires : "") + " · " + source;
    lines += "  " + style(Color::dim, finding.id) + "  " + pad_right(finding.op, 30) + " " + pad_left(count(finding.nodes, "node"), 10) + "\n" +
             std::string(finding_indent, ' ') + style(Color::dim, fit(why, std::max<std::size_t>(options.width, 40) - finding_indent)) + "\n";
  }
  return lines.empty() ? lines : "\n" + style(Color::bold, "allowed") + "\n" + lines;
}

std::string kept_words(const OperatorSummary& op) {
  if (!op.kept) return {};
  return op.kept == op.nodes ? "  (kept)" : "  (kept in " + count(op.kept, "call") + ")";
}

std::string operator_table(const Report& report, const Style& style) {
  std::string lines = "\n" + style(Color::bold, "operators") + "\n";
  for (const auto& op : report.operators) {
    if (op.operator_class == OperatorClass::structural) continue;
    const std::string name = op.overload.empty() ? op.op : op.op + "." + op.overload;
    lines += "  " + pad_right(name, 44) + " " + pad_left(count(op.nodes, "node"), 12) + "   " +
             (op.operator_class == OperatorClass::missing ? style(Color::red, "missing") : mapping::joined(op.onnx)) + kept_words(op) +
             (op.verified || op.operator_class == OperatorClass::missing ? "" : style(Color::dim, "  (not verified)")) + "\n";
  }
  return lines;
}

// What users' files decided.
std::string users_rows(const Report& report, const Style& style) {
  std::string lines;
  for (const auto& op : report.operators)
    for (const auto& use : op.rows) {
      if (!use.users) continue;
      const std::string name = op.overload.empty() ? op.op : op.op + "." + op.overload;
      lines += "  " + pad_right(name, 44) + " " + pad_left(count(use.nodes, "node"), 12) + "   " +
               (op.operator_class == OperatorClass::missing ? style(Color::red, "missing") : mapping::joined(op.onnx)) + style(Color::dim, "  (your row, " + use.place + ")") + "\n";
    }
  return lines.empty() ? lines : "\n" + style(Color::bold, "your rows") + "\n" + lines;
}

std::string steps(const Report& report, const Style& style) {
  if (report.model.steps.empty()) return {};
  std::string lines = "\n" + style(Color::bold, "steps") + "\n";
  for (const auto& step : report.model.steps) lines += "  " + step + "\n";
  return lines;
}

int unverified(const Report& report) {
  return static_cast<int>(std::count_if(report.operators.begin(), report.operators.end(), [](const OperatorSummary& op) {
    return !op.verified && op.blocked < op.nodes && (op.operator_class == OperatorClass::one_to_one || op.operator_class == OperatorClass::one_to_many);
  }));
}

std::string last_line(const Report& report) {
  return "exit " + std::to_string(report.exit_code) + " (--fail-on " + std::string(word(report.gate.fail_on)) + ")\n";
}

std::string file_name(const Report& report) { return report.model.path.substr(report.model.path.find_last_of('/') + 1); }

std::string title(const Report& report, const Style& style) {
  return style(Color::bold, file_name(report)) + " · " + report.model.description;
}

// Why a model could not be checked; a graph's error goes on with the line and a caret.
std::string failure_page(const Report& report, const Style& style) {
  std::string page = style(Color::bold, file_name(report)) + "\n\n  " + style(Color::red, style(Color::bold, "NOT CHECKED")) + "\n";
  for (std::string_view rest = *report.error; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    page += "    " + std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return page + "\nexit " + std::to_string(report.exit_code) + "\n";
}

std::string export_type(const Report& report) {
  return report.export_type == ExportType::onnx ? std::string() : " · " + std::string(word(report.export_type));
}

std::string report_page(const Report& report, const RenderOptions& options) {
  const Style style(options.color);
  if (report.error) return failure_page(report, style);
  std::string page = title(report, style) + " · opset " + std::to_string(report.opset) + export_type(report) + "\n\n  " + verdict_words(report, style) + "    " +
                     headline(report) + "\n";
  if (options.quiet) return (report.gate.passed ? std::string() : page + findings(report, options, style) + "\n") + last_line(report);
  page += "\n" + bars(report, style) + findings(report, options, style) + allowed(report, options, style) + users_rows(report, style);
  if (options.verbosity > 0) page += operator_table(report, style);
  if (options.verbosity > 1) page += steps(report, style);
  if (const int rows = unverified(report))
    page += "\n" + style(Color::dim, wrap(count(rows, "operator") + " by table row alone: no handler has proved the row yet (verified: false)",
                                          options.width, 0)) + "\n";
  return page + "\n" + last_line(report);
}

std::string table_header(const Style& style) {
  return "  " + style(Color::dim, pad_left("opset", 5) + "  " + pad_right("verdict", 16) + pad_left("one-to-one", 11) +
                                      pad_left("one-to-many", 13) + pad_left("missing", 9) + pad_left("refused", 9) +
                                      pad_left("nodes that convert", 20)) + "\n";
}

std::string table_row(const Report& report, const Style& style) {
  const Summary& summary = report.summary;
  const auto converted = static_cast<long long>(std::llround(summary.coverage_nodes * summary.nodes));
  const std::string verdict = report.verdict == Verdict::yes ? style(Color::green, "convertible")
                              : report.verdict == Verdict::no ? style(Color::red, "not convertible")
                                                              : style(Color::yellow, "needs input");
  return "  " + pad_left(std::to_string(report.opset), 5) + "  " + pad_right(verdict, 16) + pad_left(number(summary.one_to_one), 11) +
         pad_left(number(summary.one_to_many), 13) + pad_left(number(summary.missing), 9) + pad_left(number(summary.refused), 9) +
         pad_left(number(converted) + " / " + number(summary.nodes), 20) + "\n";
}

// Of one model's reports, the one with the least in the way.
const Report& closest(std::span<const Report> reports) {
  return *std::max_element(reports.begin(), reports.end(), [](const Report& a, const Report& b) {
    return a.summary.coverage_nodes < b.summary.coverage_nodes;
  });
}

// Opsets that leave nodes unassessed don't tell it.
std::string lowest_line(std::span<const Report> reports) {
  for (const auto& report : reports)
    if (const auto lowest = report.summary.lowest_opset) return "converts whole from opset " + std::to_string(*lowest);
  return "converts whole at no opset";
}

std::string model_page(std::span<const Report> reports, const RenderOptions& options, const Style& style) {
  std::string page = title(reports.front(), style) + export_type(reports.front()) + "\n\n" + table_header(style);
  for (const auto& report : reports) page += table_row(report, style);
  page += "\n  " + lowest_line(reports) + "\n";
  const Report& best = closest(reports);
  if (!best.convertible()) {
    page += "\nin the way at opset " + std::to_string(best.opset) + ":\n";
    page += findings(best, options, style);
  }
  return page;
}

// The reports of one model, at several opsets.
std::span<const Report> first_model(std::span<const Report> reports) {
  std::size_t end = 1;
  const auto same_model = [&](const Report& report) { return !report.error && report.model.path == reports.front().model.path; };
  while (end < reports.size() && !reports.front().error && same_model(reports[end])) ++end;
  return reports.first(end);
}

}  // namespace

std::string text(std::span<const Report> given, const RenderOptions& options) {
  std::vector<Report> reports;
  std::transform(given.begin(), given.end(), std::back_inserter(reports), printable);
  if (reports.size() == 1) return report_page(reports.front(), options);
  const Style style(options.color);
  std::string pages;
  int models = 0;
  for (std::span<const Report> rest = reports; !rest.empty(); ++models) {
    const auto group = first_model(rest);
    if (!pages.empty()) pages += "\n";
    pages += group.size() == 1 ? report_page(group.front(), options) : model_page(group, options, style);
    rest = rest.subspan(group.size());
  }
  if (models > 1) pages += "\n" + totals(reports, options);
  return pages;
}

std::string totals(std::span<const Report> reports, const RenderOptions&) {
  const Totals sums = totals_of(reports);
  return number(sums.yes) + " of " + count(sums.models, "model") + " convert" + (sums.not_checked ? " · " + number(sums.not_checked) + " not checked" : "") + "\n";
}

}  // namespace compatcheck::report
