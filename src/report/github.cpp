#include "report/github.h"

#include <algorithm>
#include <vector>

#include "compatcheck/printable.h"
#include "report/occurrences.h"
#include "report/report_text.h"
#include "report/source_files.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t most_of_a_kind = 9;

std::string escaped(const std::string& text, bool property) {
  std::string made;
  for (const char c : printable_lines(text)) {
    if (c == '%')
      made += "%25";
    else if (c == '\n')
      made += "%0A";
    else if (property && c == ':')
      made += "%3A";
    else if (property && c == ',')
      made += "%2C";
    else
      made += c;
  }
  return made;
}

class Annotations {
 public:
  explicit Annotations(std::string kind) : kind_(std::move(kind)) {}

  void add(const std::string& properties, const std::string& message) {
    if (++count_ <= most_of_a_kind) lines_ += "::" + kind_ + " " + properties + "::" + escaped(message, false) + "\n";
  }

  std::string text(const std::string& what) const {
    if (count_ <= most_of_a_kind) return lines_;
    const auto more = static_cast<long long>(count_ - most_of_a_kind);
    return lines_ + "::" + kind_ + " title=compatcheck::" + number(more) + " more " + what + (more == 1 ? "" : "s") +
           "; GitHub shows ten of a kind\n";
  }

 private:
  std::string kind_, lines_;
  std::size_t count_ = 0;
};

std::string annotation_place(const SourceFiles::Place& place, const std::string& title) {
  return "file=" + escaped(place.file, true) + ",line=" + std::to_string(place.line) + ",title=" + escaped(title, true);
}

// "12 nodes, the first at models/warp.py:88 in warp · net.flow"
std::string where(const Finding& finding) {
  const std::string nodes = count(finding.nodes, "node");
  if (finding.sites.empty()) return nodes;
  return nodes + (finding.sites.size() > 1 ? ", the first at " : " at ") + place(finding.sites.front());
}

std::string annotation_title(const Part& part, const Finding& finding) {
  const std::string op = full_name(finding.op, finding.overload);
  return finding.id + (op.empty() ? "" : " " + op) + " (" + part.name + ", opset " + std::to_string(part.report->opset) +
         (finding.target ? ", " + *finding.target : "") + ")";
}

std::string summary_text(const Report& report) {
  const Summary& summary = report.summary;
  return verdict_name(report) + ": " + headline(report) + "\n" + spell(counts_of(report)) +
         "\noperators: " + number(summary.one_to_one) + " one-to-one · " + number(summary.one_to_many) + " one-to-many · " +
         number(summary.missing) + " missing";
}

}  // namespace

std::string github(std::span<const Report> reports, const RenderOptions& options) {
  SourceFiles files(options.source_root);
  Annotations errors("error"), warnings("warning"), notices("notice");
  for (const Part& part : parts_of(reports)) {
    if (part.target) continue;  // its findings are listed with the report
    const Report& report = *part.report;
    if (report.error)
      errors.add(annotation_place(files.place(report, nullptr), "not checked (" + part.name + ")"), *report.error);
    for (const Finding& finding : report.findings) {
      if (finding.suppressed || finding.severity == Severity::note) continue;
      const auto place = files.place(report, finding.sites.empty() ? nullptr : &finding.sites.front());
      (finding.severity == Severity::error ? errors : warnings)
          .add(annotation_place(place, annotation_title(part, finding)), sentence(finding) + "\n" + where(finding));
    }
    if (!report.error) notices.add(annotation_place(files.place(report, nullptr), part.title()), summary_text(report));
  }
  return errors.text("error") + warnings.text("warning") + notices.text("report");
}

}  // namespace compatcheck::report
