// Opsets of one model, and several models.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "analysis/gate.h"
#include "compatcheck/printable.h"
#include "report/enumerator_names.h"
#include "report/printable.h"
#include "report/report_text.h"
#include "report/text.h"
#include "report/text_parts.h"
#include "report/text_targets.h"
#include "report/totals.h"

namespace compatcheck::report {
namespace {

using Model = std::vector<const Report*>;

constexpr std::size_t most_missing = 10;

// Narrower tables omit the one-to-one and one-to-many columns.
bool wide(const RenderOptions& options) { return options.width >= 88; }

std::string table_header(const RenderOptions& options, const Style& style) {
  const std::string classes = wide(options) ? pad_left("one-to-one", 11) + pad_left("one-to-many", 13) : "";
  return "  " +
         style(Color::dim, pad_left("opset", 5) + "  " + pad_right("verdict", 16) + classes + pad_left("missing", 9) +
                               pad_left("refused", 9) +
                               (wide(options) ? pad_left("nodes that convert", 20) : pad_left("nodes", 17))) +
         "\n";
}

Color color_of_verdict(const Report& report) {
  return report.verdict == Verdict::yes ? Color::green : report.verdict == Verdict::no ? Color::red : Color::magenta;
}

std::string table_row(const Report& report, const RenderOptions& options, const Style& style) {
  const Summary& summary = report.summary;
  const auto converted = static_cast<long long>(std::llround(summary.coverage_nodes * summary.nodes));
  const std::string classes =
      wide(options) ? pad_left(number(summary.one_to_one), 11) + pad_left(number(summary.one_to_many), 13) : "";
  return "  " + pad_left(std::to_string(report.opset), 5) + "  " +
         pad_right(style(color_of_verdict(report), verdict_name(report)), 16) + classes + pad_left(number(summary.missing), 9) +
         pad_left(number(summary.refused), 9) +
         pad_left(number(converted) + " / " + number(summary.nodes), wide(options) ? 20 : 17) + "\n";
}

struct Mark {
  const char* letter;
  const char* meaning;
  Color color;
};
constexpr Mark skipped{"·", "not asked", Color::dim};
constexpr std::array marks{Mark{"■", "converts", Color::green}, Mark{"×", "doesn't", Color::red},
                           Mark{"?", "needs input", Color::magenta}, skipped};

const Mark& mark_of(const Report& report) {
  return report.verdict == Verdict::yes ? marks[0] : report.verdict == Verdict::no ? marks[1] : marks[2];
}

// "  opset 7 ×××××××××■■■■■■■■■■■ 26": a cell for every opset that there is.
std::string ladder(const Model& model, const RenderOptions& options, const Style& style) {
  std::map<int, const Mark*> cells;
  for (const Report* report : model) cells[report->opset] = &mark_of(*report);
  std::map<std::string_view, bool> met;
  std::string line = "  opset " + std::to_string(lowest_opset) + " ";
  for (int opset = lowest_opset; opset <= highest_opset; ++opset) {
    const auto cell = cells.find(opset);
    const Mark& mark = cell == cells.end() ? skipped : *cell->second;
    line += style(mark.color, mark.letter);
    met[mark.letter] = true;
  }
  line += " " + std::to_string(highest_opset);
  std::string legend;
  for (const Mark& mark : marks)
    if (met.contains(mark.letter)) legend += (legend.empty() ? "" : "  ") + std::string(mark.letter) + " " + mark.meaning;
  const bool fits = columns(line) + 3 + columns(legend) <= options.width;
  return line + (fits ? "   " : "\n          ") + style(Color::dim, legend) + "\n";
}

std::string lowest_line(const Model& model) {
  for (const Report* report : model)
    if (const auto lowest = report->summary.lowest_opset) return "converts from opset " + std::to_string(*lowest);
  const bool decided = std::ranges::all_of(model, [](const Report* report) { return lowest_opset_words(*report) == "none"; });
  return decided ? "converts at no opset" : "from which opset it converts isn't known";
}

std::string exit_line_of_models(const Model& reports) {
  const auto judged = std::ranges::find_if(reports, [](const Report* report) { return !report->error; });
  return "exit " + std::to_string(analysis::exit_code_of(reports)) +
         (judged == reports.end() ? "" : " (" + gate_options(**judged) + ")") + "\n";
}

// Whatever --exit-zero makes of it.
bool passes(const Model& model) {
  const auto passed = [](const Report* report) { return !report->error && report->gate.passed; };
  return model.front()->gate.one_opset_is_enough ? std::ranges::any_of(model, passed) : std::ranges::all_of(model, passed);
}

// Lists the obstacles at the opsets that count for the gate.
std::string details_of_model(const Model& model, const RenderOptions& options, const Style& style) {
  const bool one = model.front()->gate.one_opset_is_enough;
  std::string pages;
  for (const Report* report : one ? Model{&deciding(model)} : model) {
    const std::string page = targets_table(*report, options, style) + findings(*report, options, style) +
                             (options.quiet ? "" : allowed(*report, options, style));
    if (!page.empty()) pages += "\nopset " + std::to_string(report->opset) + ": " + spell(counts_of(*report)) + "\n" + page;
  }
  return pages;
}

std::string model_page(const Model& model, const ModelNames& names, const RenderOptions& options, const Style& style) {
  std::string page =
      report_title(*model.front(), names, style) + export_type(*model.front()) + "\n\n" + table_header(options, style);
  for (const Report* report : model) page += table_row(*report, options, style);
  return page + "\n" + ladder(model, options, style) + "  " + lowest_line(model) + "\n" +
         details_of_model(model, options, style) + "\n" + exit_line_of_models(model);
}

// Counts the warnings that aren't suppressed.
long long warnings_of(const Report& report) {
  FindingCounts counts;
  for (const Finding& finding : report.findings)
    if (!is_of_run(finding)) counts.add(finding);
  return counts.warnings;
}

std::string engine_words(const Report& report, const Style& style) {
  std::string words;
  for (const TargetSummary& target : report.targets)
    words += (words.empty() ? "   " : style(Color::dim, " · ")) + target.engine + " " +
             style(color_of_support(target.support), word(target.support));
  return words;
}

// "1 of 80 models": how many pages of failing models a table has below it.
constexpr std::size_t most_detailed = 5;

std::string detail_limit(std::size_t failing) {
  return failing <= most_detailed
             ? std::string()
             : "\n" + count(static_cast<long long>(failing - most_detailed), "more model") +
                   (failing == most_detailed + 1 ? " fails" : " fail") + " the gate (-q shows all of them, -v each model)\n";
}

// Findings of the run stand below its last model.
std::string of_the_run(std::span<const Report> reports, const RenderOptions& options) {
  Report run;
  for (const Report& report : reports) {
    run.gate = report.gate;
    for (const Finding& finding : report.findings)
      if (is_of_run(finding) && std::ranges::find(run.findings, finding.message, &Finding::message) == run.findings.end())
        run.findings.push_back(finding);
  }
  const std::string lines = findings(printable_report(run), options, Style(options.color));
  return lines.empty() ? lines : lines.substr(1) + "\n";
}

std::string missing_table(const Totals& totals, const Style& style) {
  if (totals.missing.empty()) return {};
  std::string lines = style(Color::bold, "missing in most models") + "\n";
  for (std::size_t i = 0; i < std::min(totals.missing.size(), most_missing); ++i) {
    const auto& op = totals.missing[i];
    lines += "  " + pad_right(printable(op.op), 30) + " " + pad_left(count(op.models, "model"), 12) + "  " +
             pad_left(count(op.nodes, "node"), 12) + "\n";
  }
  if (totals.missing.size() > most_missing)
    lines += "  (+" + number(static_cast<long long>(totals.missing.size() - most_missing)) + ")\n";
  return lines + "\n";
}

std::string totals_line(const Totals& totals) {
  const int models = totals.models - totals.onnx;
  if (models == 0 && totals.onnx > 0) return count(totals.onnx, "ONNX model") + "\n";
  std::string line = number(totals.yes) + " of " + count(models, "model") + (models == 1 ? " converts" : " convert");
  if (totals.onnx) line += " · " + count(totals.onnx, "ONNX model");
  if (totals.needs_input) line += " · " + number(totals.needs_input) + " need input";
  if (totals.not_checked) line += " · " + number(totals.not_checked) + " not checked";
  return line + "\n";
}

}  // namespace

std::string table_head(const RenderOptions& options) {
  return Style(options.color)(Color::dim, pad_right("verdict", 17) + pad_left("missing", 8) + pad_left("refused", 9) +
                                              pad_left("warnings", 10) + pad_left("lowest opset", 14) + "  model") +
         "\n";
}

std::string table_line(std::span<const Report> reports, const RenderOptions& options) {
  const Style style(options.color);
  Model model;
  for (const Report& report : reports) model.push_back(&report);
  const Report& shown = deciding(model);
  const std::string path = printable(ModelNames(true).of(shown));
  if (shown.error) return style(Color::red, pad_right(verdict_name(shown), 57)) + "   " + path + "\n";
  const auto column = [](long long number_of, std::size_t width) { return pad_left(number(number_of), width); };
  const std::string lowest = is_onnx(shown) ? "" : lowest_opset_words(shown);
  return style(color_of_verdict(shown), pad_right(verdict_name(shown), 17)) + column(shown.summary.missing, 8) +
         column(shown.summary.refused, 9) + column(warnings_of(shown), 10) + pad_left(lowest, 14) + "  " + path +
         engine_words(shown, style) + "\n";
}

std::string table_end(std::span<const std::string> details, std::size_t failing) {
  std::string pages;
  for (const std::string& page : details) pages += "\n" + page;
  return pages + detail_limit(failing);
}

bool shows_table(const RenderOptions& options) { return !options.quiet && options.verbosity == 0; }
bool has_details(std::size_t failing) { return failing <= most_detailed; }

namespace {

std::string table(std::span<const Model> models, const ModelNames& names, const RenderOptions& options) {
  std::string lines = table_head(options);
  RenderOptions page = options;
  page.quiet = true;
  std::vector<std::string> details;
  std::size_t failing = 0;
  for (const Model& model : models) {
    std::vector<Report> reports;
    for (const Report* report : model) reports.push_back(*report);
    lines += table_line(reports, options);
    if (passes(model) || !has_details(++failing)) continue;
    details.push_back(model.size() == 1 ? report_page(*model.front(), names, page)
                                        : model_page(model, names, page, Style(options.color)));
  }
  return lines + table_end(details, failing);
}

}  // namespace

std::string text(std::span<const Report> given, const RenderOptions& options) {
  std::vector<Report> reports;
  std::ranges::transform(given, std::back_inserter(reports), printable_report);
  const bool several = options.one_of_several || models_of(reports).size() > 1;
  if (several)
    for (Report& report : reports) std::erase_if(report.findings, is_of_run);
  const ModelNames names = options.one_of_several ? ModelNames(true) : ModelNames(reports);
  const Style style(options.color);
  std::string pages;
  const auto models = models_of(reports);
  if (models.size() > 1 && shows_table(options)) return table(models, names, options) + "\n" + totals(given, options);
  for (const Model& model : models) {
    if (options.quiet && passes(model)) {
      if (models.size() == 1 && !options.one_of_several) return exit_line_of_models(model);
      continue;
    }
    if (!pages.empty()) pages += "\n";
    pages += model.size() == 1 ? report_page(*model.front(), names, options) : model_page(model, names, options, style);
  }
  return models.size() > 1 ? pages + (pages.empty() ? "" : "\n") + totals(given, options) : pages;
}

std::string totals(std::span<const Report> reports, const RenderOptions& options) {
  const Totals sums = totals_of(reports);
  Model all;
  for (const Report& report : reports) all.push_back(&report);
  return (options.quiet ? "" : missing_table(sums, Style(options.color))) + of_the_run(reports, options) + totals_line(sums) +
         exit_line_of_models(all);
}

}  // namespace compatcheck::report
