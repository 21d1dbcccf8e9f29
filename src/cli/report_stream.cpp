#include "cli/report_stream.h"

#include <algorithm>

#include "cli/report_output.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

// Returns the part of a report that the totals need, so that thousands of findings aren't kept.
Report summary_of(const Report& report) {
  Report summary;
  summary.model.path = report.model.path;
  summary.opset = report.opset;
  summary.verdict = report.verdict;
  summary.summary = report.summary;
  summary.gate = report.gate;
  summary.error = report.error;
  summary.exit_code = report.exit_code;
  for (const auto& op : report.operators)
    if (op.operator_class == OperatorClass::missing) summary.operators.push_back(op);
  for (const auto& finding : report.findings) {
    summary.findings.push_back(finding);
    summary.findings.back().sites.clear();
  }
  return summary;
}

bool streams(Format format) { return format == Format::jsonl; }

}  // namespace

ReportStream::ReportStream(const Options& options, std::size_t models)
    : options_(options),
      rest_(options),
      as_list_(models * options.opsets.values.size() != 1),
      prints_(models > 1 && (options.format == Format::text || streams(options.format))) {
  page_ = {.color = use_color(options.color),
           .width = terminal_width(),
           .quiet = options.quiet,
           .verbosity = options.verbosity,
           .as_list = as_list_,
           .one_of_several = models > 1,
           .source_root = options.source_root};
  if (models <= 1) return;
  for (const auto& report : options.reports)
    if (streams(report.format)) streams_.push_back(std::make_unique<OutputFile>(report.file));
  std::erase_if(rest_.reports, [](const ReportFile& report) { return streams(report.format); });
}
ReportStream::~ReportStream() = default;

void ReportStream::print(std::span<const Report> reports) {
  if (options_.format != Format::text) return write_stdout(render(reports, options_.format, page_));
  for (const auto& report : reports) summaries_.push_back(summary_of(report));
  if (!table_) table_.emplace(page_);
  if (const std::string text = table_->add(reports); !text.empty()) write_stdout(text);
}

void ReportStream::add(std::span<const Report> reports) {
  if (prints_) print(reports);
  for (const auto& stream : streams_) stream->write(render(reports, Format::jsonl));
  if (!prints_ || !rest_.reports.empty()) kept_.insert(kept_.end(), reports.begin(), reports.end());
}

void ReportStream::finish() {
  const bool failed = kept_.size() == 1 && kept_.front().error && !prints_;
  if (failed && kept_.front().exit_code == exit_usage) return;  // a usage error must not overwrite an earlier report
  for (const auto& stream : streams_) stream->finish();
  const bool stderr_says_it = failed && options_.format == Format::text;
  write_reports(kept_, rest_, as_list_, prints_ || stderr_says_it ? Stdout::left_out : Stdout::written);
  if (table_) write_stdout(table_->end() + render_totals(summaries_, page_));
}

}  // namespace compatcheck::cli
