#include "compatcheck/render.h"

#include <array>
#include <utility>

#include "analysis/boundary.h"
#include "report/allowlist.h"
#include "report/difference.h"
#include "report/github.h"
#include "report/gitlab.h"
#include "report/html.h"
#include "report/inspection.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/printable.h"
#include "report/registry_page.h"
#include "report/sarif.h"
#include "report/schema_text.h"
#include "report/text.h"
#include "report/text_parts.h"
#include "report/verification.h"
#include "report/written.h"

namespace compatcheck {

std::string render(std::span<const Report> reports, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&]() -> std::string {
    switch (format) {
      case Format::text: return report::text(reports, options);
      case Format::json: return report::json(reports, options.as_list);
      case Format::jsonl: return report::json_lines(reports);
      case Format::sarif: return report::sarif(reports, options);
      case Format::junit: return report::junit(reports);
      case Format::github: return report::github(reports, options);
      case Format::gitlab: return report::gitlab(reports, options);
      case Format::markdown: return report::markdown(reports);
      case Format::html:
        if (reports.size() > most_drawn) return report::registry_page(std::array{report::page_rows(reports)});
        return report::html(reports, options);
      case Format::allowlist_yaml: return report::allowlist(reports);
    }
    throw UsageError("there is no such format of this report");
  });
}

TextTable::TextTable(const RenderOptions& options) : options_(options) { options_.one_of_several = true; }

std::string TextTable::add(std::span<const Report> model) {
  return analysis::guarded("the report", [&] {
    const bool separate = std::exchange(begun_, true);
    if (!report::shows_table(options_)) {
      const std::string page = report::text(model, options_);
      begun_ = separate || !page.empty();
      return (separate && !page.empty() ? "\n" : "") + page;
    }
    RenderOptions page = options_;
    page.quiet = true;
    std::string details = report::text(model, page);  // empty if the model passes
    if (!details.empty() && report::has_details(++failing_)) details_.push_back(std::move(details));
    return (separate ? "" : report::table_head(options_)) + report::table_line(model, options_);
  });
}

std::string TextTable::end() const { return report::table_end(details_, failing_) + (begun_ ? "\n" : ""); }

std::string render_totals(std::span<const Report> reports, const RenderOptions& options) {
  return analysis::guarded("the report", [&] { return report::totals(reports, options); });
}

std::string render(const Report& report, Format format, const RenderOptions& options) {
  return render(std::span(&report, 1), format, options);
}

std::string render_findings(const Report& report, const RenderOptions& options) {
  return analysis::guarded(
      "the report", [&] { return report::findings(report::printable_report(report), options, report::Style(options.color)); });
}

std::string render(const WrittenModel& written) {
  return analysis::guarded("the report", [&] { return report::text(written); });
}

std::string render(const Verification& verification, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&]() -> std::string {
    switch (format) {
      case Format::text: return report::text(verification, options);
      case Format::json: return report::json(verification, false);
      case Format::jsonl: return report::json(verification, true);
      case Format::junit: return report::junit(verification);
      case Format::markdown: return report::markdown(verification);
      case Format::html: return report::html(verification);
      default: throw UsageError("a verification is written as text, json, jsonl, junit, markdown or html");
    }
  });
}

std::string verification_part(const Verification& verification, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&] { return report::part(verification, format, options); });
}

std::string render_verifications(std::span<const std::string> parts, int exit_code, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&] { return report::joined_parts(parts, exit_code, format, options); });
}

namespace {

std::string written(const report::Page& page, ReferenceFormat format, const RenderOptions& options) {
  return format == ReferenceFormat::markdown ? report::markdown(page) : report::text(page, options);
}

}  // namespace

std::string render(const Inspection& inspection, ReferenceFormat format, const RenderOptions& options) {
  return analysis::guarded("the report", [&] {
    return format == ReferenceFormat::json ? report::json(inspection)
                                           : written(report::page(inspection, options), format, options);
  });
}

std::string render(const Difference& difference, ReferenceFormat format, const RenderOptions& options) {
  return analysis::guarded("the report", [&] {
    return format == ReferenceFormat::json ? report::json(difference) : written(report::page(difference), format, options);
  });
}

std::string page_rows(std::span<const Report> reports) {
  return analysis::guarded("the report", [&] { return report::page_rows(reports); });
}

std::string page_of_rows(std::span<const std::string> rows) {
  return analysis::guarded("the report", [&] { return report::registry_page(rows); });
}

std::string json_schema() { return report::schema_text; }

std::string json_schema(const std::string& command) {
  if (command == "check") return report::schema_text;
  if (command == "verify") return report::verify_schema_text;
  if (command == "inspect") return report::inspect_schema_text;
  if (command == "diff") return report::diff_schema_text;
  throw UsageError("there is no schema of " + command + "; there is one of check, verify, inspect and diff");
}

}  // namespace compatcheck
