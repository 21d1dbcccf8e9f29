#include "report/sarif.h"

#include <algorithm>

#include "analysis/rules.h"
#include "compatcheck/check.h"
#include "report/enumerator_names.h"
#include "report/json_parts.h"
#include "report/occurrences.h"
#include "report/report_text.h"
#include "report/source_files.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

// GitHub's limits for a run; it shows 100 locations of a result.
constexpr std::size_t most_results = 25'000, most_locations = 100, most_bytes = 10'000'000;

bool unreserved(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' ||
         c == '~' || c == '/';
}

std::string uri(const std::string& path) {
  std::string text = path.starts_with("/") ? "file://" : "";
  for (const char c : path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (unreserved(byte))
      text += c;
    else
      text += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

Json location(const SourceFiles::Place& place, const std::string& module) {
  Json made = {{"physicalLocation", {{"artifactLocation", {{"uri", uri(place.file)}}}, {"region", {{"startLine", place.line}}}}}};
  if (module.empty()) return made;
  const std::string name = module.substr(module.find_last_of('.') + 1);
  made["logicalLocations"] = Json::array({{{"name", name}, {"fullyQualifiedName", module}, {"kind", "module"}}});
  return made;
}

Json locations(const Report& report, const Occurrence& occurrence, SourceFiles& files) {
  Json list = Json::array();
  for (const Site* site : occurrence.sites) {
    if (list.size() == most_locations) break;
    list.push_back(location(files.place(report, site), occurrence.module));
    list.back()["message"] = {{"text", place(*site)}};
  }
  if (list.empty()) list.push_back(location(files.place(report, nullptr), occurrence.module));
  return list;
}

std::string_view baseline_state(BaselineState state) {
  return state == BaselineState::unchanged ? "unchanged" : state == BaselineState::added ? "new" : "updated";
}

Json suppressions(const Finding& finding) {
  if (!finding.suppressed) return Json::array();
  const Suppression& suppressed = *finding.suppressed;
  return Json::array({{{"kind", "external"},
                       {"status", "accepted"},
                       {"justification", suppressed.reason + " (" + suppressed.source +
                                             (suppressed.expires ? ", until " + *suppressed.expires : "") + ")"}}});
}

Json property_bag(const Report& report, const Occurrence& occurrence) {
  const Finding& finding = *occurrence.finding;
  Json json = {{"finding", occurrence.number},
               {"model", report.model.path},
               {"opset", report.opset},
               {"op", finding.op},
               {"overload", finding.overload},
               {"nodes", occurrence.nodes},
               {"availableFrom", or_null(finding.available_from)}};
  if (finding.target) json["target"] = *finding.target;
  return json;
}

Json rule(std::string_view id) {
  const analysis::Rule* known = analysis::find_rule(id);
  if (!known) return {{"id", id}};
  return {{"id", id},
          {"name", known->name},
          {"shortDescription", {{"text", known->title}}},
          {"fullDescription", {{"text", known->title}}},
          {"help", {{"text", known->page}}},
          {"defaultConfiguration", {{"level", word(known->severity)}}},
          {"properties", {{"tags", {"onnx"}}}}};
}

class Run {
 public:
  Run(std::span<const Part> parts, int exit_code, SourceFiles& files, std::size_t limit)
      : parts_(parts), exit_code_(exit_code), files_(files), limit_(limit) {
    for (const Part& part : parts_) add(part);
  }

  Json take() && {
    const auto tool = parts_.empty() ? Report{}.tool : parts_.front().report->tool;
    Json made = {{"tool", {{"driver", {{"name", tool.name}, {"version", tool.version}, {"rules", rules()}}}}},
                 {"invocations", Json::array({invocation()})},
                 {"columnKind", "unicodeCodePoints"},
                 {"results", std::move(results_)},
                 {"properties", properties()}};
    return made;
  }

 private:
  void add(const Part& part) {
    const Report& report = *part.report;
    if (report.error) notifications_.push_back({{"level", "error"}, {"message", {{"text", *report.error}}}});
    for (const Finding& finding : report.findings)
      if (part.has(finding)) counts_.add(finding);
    if (!part.target) {
      one_to_one_ += report.summary.one_to_one;
      one_to_many_ += report.summary.one_to_many;
      missing_ += report.summary.missing;
    }
    failed_ |= report.error.has_value();
    for (const Occurrence& occurrence : occurrences(part)) {
      if (results_.size() < limit_)
        results_.push_back(result(part, occurrence));
      else
        ++left_out_;
    }
  }

  Json result(const Part& part, const Occurrence& occurrence) {
    const Finding& finding = *occurrence.finding;
    const auto place = std::ranges::find(rule_ids_, finding.id) - rule_ids_.begin();
    if (place == std::ssize(rule_ids_)) rule_ids_.push_back(finding.id);
    const std::string name = full_name(finding.op, finding.overload);
    Json made = {{"ruleId", finding.id},
                 {"ruleIndex", place},
                 {"level", word(finding.severity)},
                 {"message", {{"text", (name.empty() ? "" : name + ": ") + sentence(finding)}}},
                 {"locations", locations(*part.report, occurrence, files_)},
                 {"occurrenceCount", std::max(occurrence.nodes, 1)},
                 {"partialFingerprints", {{"compatcheck/v1", fingerprints_.of(part, occurrence)}}},
                 {"suppressions", suppressions(finding)}};
    if (finding.baseline) made["baselineState"] = baseline_state(*finding.baseline);
    made["properties"] = property_bag(*part.report, occurrence);
    return made;
  }

  Json rules() const {
    Json list = Json::array();
    for (const auto& each : rule_ids_) list.push_back(rule(each));
    return list;
  }

  Json invocation() const {
    Json made = {{"executionSuccessful", !failed_}, {"exitCode", exit_code_}};
    Json made_notifications = notifications_;
    if (left_out_)
      made_notifications.push_back(
          {{"level", "warning"},
           {"message", {{"text", count(static_cast<long long>(left_out_), "result") + " left out: a file holds no more"}}}});
    if (!made_notifications.empty()) made["toolExecutionNotifications"] = std::move(made_notifications);
    return made;
  }

  Json properties() const {
    Json made = Json::object();
    made["models"] = Json::array();
    for (const Part& part : parts_) {
      if (part.target) continue;
      made["models"].push_back({{"model", part.report->model.path}});
      if (part.report->error) continue;
      made["models"].back()["opset"] = part.report->opset;
      made["models"].back()["verdict"] = word(part.report->verdict);
    }
    made["findings"] = {
        {"error", counts_.errors}, {"warning", counts_.warnings}, {"note", counts_.notes}, {"suppressed", counts_.suppressed}};
    made["operators"] = {{"one_to_one", one_to_one_}, {"one_to_many", one_to_many_}, {"missing", missing_}};
    return made;
  }

  std::span<const Part> parts_;
  int exit_code_;
  SourceFiles& files_;
  std::size_t limit_, left_out_ = 0;
  Json results_ = Json::array(), notifications_ = Json::array();
  std::vector<std::string> rule_ids_;
  Fingerprints fingerprints_;
  FindingCounts counts_;
  long long one_to_one_ = 0, one_to_many_ = 0, missing_ = 0;
  bool failed_ = false;
};

// One run, whatever the number of models: trackers keep alerts of different runs apart, and a run more or less would make all of
// them new.
std::string document(Run run) {
  const Json whole = {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({std::move(run).take()})}};
  return whole.dump(1, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace

std::string sarif(std::span<const Report> reports, const RenderOptions& options) {
  const std::vector<Part> parts = parts_of(reports);
  SourceFiles files(options.source_root);
  std::size_t limit = most_results;
  const int exit_code = exit_code_of(reports);
  std::string text = document(Run(parts, exit_code, files, limit));
  while (text.size() > most_bytes && limit > 1) {
    limit = std::max<std::size_t>(limit * most_bytes / text.size() * 9 / 10,
                                  1);  // a tenth less, because the first results have most places
    text = document(Run(parts, exit_code, files, limit));
  }
  return text;
}

}  // namespace compatcheck::report
