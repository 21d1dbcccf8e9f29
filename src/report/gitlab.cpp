#include "report/gitlab.h"

#include "analysis/rules.h"
#include "report/json_parts.h"
#include "report/occurrences.h"
#include "report/report_text.h"
#include "report/source_files.h"

namespace compatcheck::report {
namespace {

std::string_view severity(const Finding& finding) {
  if (finding.severity == Severity::error) return analysis::is_missing(finding.id) ? "blocker" : "major";
  return finding.severity == Severity::warning ? "minor" : "info";
}

// GitLab shows the description alone: it names rule, model and opset, too.
std::string description(const Part& part, const Finding& finding) {
  const std::string op = full_name(finding.op, finding.overload);
  return finding.id + (op.empty() ? "" : " " + op) + ": " + sentence(finding) + " (" + part.title() + ")";
}

Json entry(const std::string& description, std::string_view check, const std::string& fingerprint, std::string_view severity,
           const SourceFiles::Place& place) {
  return {{"description", description},
          {"check_name", check},
          {"fingerprint", fingerprint},
          {"severity", severity},
          {"location", {{"path", place.file}, {"lines", {{"begin", place.line}}}}}};
}

}  // namespace

std::string gitlab(std::span<const Report> reports, const RenderOptions& options) {
  SourceFiles files(options.source_root);
  Fingerprints fingerprints;
  Json list = Json::array();
  for (const Part& part : parts_of(reports)) {
    const Report& report = *part.report;
    if (report.error) {
      const Finding unread{.id = "unreadable",
                           .severity = Severity::error,
                           .op = {},
                           .overload = {},
                           .message = *report.error,
                           .help = {},
                           .available_from = {},
                           .nodes = 0,
                           .sites = {}};
      list.push_back(entry("not checked: " + *report.error, unread.id, fingerprints.of(part, {&unread, 0, "", {}, 0}), "blocker",
                           files.place(report, nullptr)));
    }
    for (const Occurrence& each : occurrences(part)) {
      if (each.finding->suppressed) continue;
      list.push_back(entry(description(part, *each.finding), each.finding->id, fingerprints.of(part, each),
                           severity(*each.finding), files.place(report, each.sites.empty() ? nullptr : each.sites.front())));
    }
  }
  return list.dump(2, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace compatcheck::report
