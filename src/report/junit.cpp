#include "report/junit.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "analysis/gate.h"
#include "report/enumerator_names.h"
#include "report/occurrences.h"
#include "report/report_text.h"
#include "report/xml.h"

namespace compatcheck::report {
namespace {

struct Case {
  std::string name;
  std::string group;  // the operator's class
  std::vector<const Finding*> failures, skips, printed;
  std::string failed{}, skipped{};  // reasons that are not in a finding
  bool fails() const { return !failures.empty() || !failed.empty(); }
  bool is_skipped() const { return !fails() && (!skips.empty() || !skipped.empty()); }
};

class Suite {
 public:
  explicit Suite(const Part& part) : part_(part) {
    if (part.report->error) return;
    add_operators();
    for (const Finding& finding : part.report->findings)
      if (part.has(finding)) add(finding);
    if (!part.target && !part.report->gate.passed &&
        std::ranges::none_of(part.report->findings, [&](const Finding& each) { return analysis::fails(each, *part.report); }))
      named("gate").failed = headline(*part.report) + " (" + gate_options(*part.report) + ")";
  }

  int tests() const { return part_.report->error ? 1 : static_cast<int>(cases_.size()); }
  int errors() const { return part_.report->error ? 1 : 0; }
  int failures() const {
    return static_cast<int>(std::ranges::count_if(cases_, [](const Case& each) { return each.fails(); }));
  }
  int skipped() const {
    return static_cast<int>(std::ranges::count_if(cases_, [](const Case& each) { return each.is_skipped(); }));
  }

  std::string text() const {
    std::string suite = "  <testsuite name=\"" + xml(part_.title()) + "\" tests=\"" + std::to_string(tests()) + "\" failures=\"" +
                        std::to_string(failures()) + "\" errors=\"" + std::to_string(errors()) + "\" skipped=\"" +
                        std::to_string(skipped()) + "\">\n" + properties();
    for (const Case& each : cases_) suite += text(each);
    if (part_.report->error)
      suite += "    <testcase name=\"model\" classname=\"" + xml(part_.title()) +
               "\">\n      <error type=\"unreadable\" message=\"" + xml(*part_.report->error) + "\"/>\n    </testcase>\n";
    return suite + "  </testsuite>\n";
  }

 private:
  Case& named(const std::string& name) {
    const auto [known, fresh] = places_.try_emplace(name, cases_.size());
    if (fresh) cases_.push_back({name, "", {}, {}, {}});
    return cases_[known->second];
  }

  // Adds the ONNX model's operators for an engine, or the model's own operators.
  void add_operators() {
    if (part_.target) {
      for (const auto& op : part_.target->operators)
        if (Case& place = named(op.onnx); op.support == Support::no) place.skipped = part_.target->target + " doesn't support it";
      return;
    }
    for (const OperatorSummary& op : part_.report->operators)
      if (op.operator_class != OperatorClass::structural) named(full_name(op.op, op.overload)).group = word(op.operator_class);
  }

  // Findings that aren't about an operator have a case for their rule. CC006 is about an input.
  void add(const Finding& finding) {
    const std::string op = full_name(finding.op, finding.overload);
    Case& place = named(finding.op.empty() || finding.id == "CC006" || finding.id.starts_with("CC9") ? finding.id : op);
    (finding.suppressed                        ? place.skips
     : analysis::fails(finding, *part_.report) ? place.failures
                                               : place.printed)
        .push_back(&finding);
  }

  std::string properties() const {
    FindingCounts counts;
    for (const Finding& finding : part_.report->findings)
      if (part_.has(finding)) counts.add(finding);
    std::map<std::string, std::string> all{{"model", part_.report->model.path},
                                           {"exit_code", std::to_string(part_.report->exit_code)}};
    if (part_.target) all["target"] = part_.target->target;
    if (!part_.report->error) {
      const Summary& summary = part_.report->summary;
      all.insert({{"opset", std::to_string(part_.report->opset)},
                  {"verdict", std::string(word(part_.report->verdict))},
                  {"findings.error", std::to_string(counts.errors)},
                  {"findings.warning", std::to_string(counts.warnings)},
                  {"findings.note", std::to_string(counts.notes)},
                  {"findings.suppressed", std::to_string(counts.suppressed)},
                  {"operators.one_to_one", std::to_string(summary.one_to_one)},
                  {"operators.one_to_many", std::to_string(summary.one_to_many)},
                  {"operators.missing", std::to_string(summary.missing)}});
    }
    std::string text = "    <properties>\n";
    for (const auto& [name, value] : all) text += "      <property name=\"" + name + "\" value=\"" + xml(value) + "\"/>\n";
    return text + "    </properties>\n";
  }

  static std::string places(const Finding& finding) {
    constexpr std::size_t most = 100;
    std::string text;
    for (std::size_t i = 0; i < std::min(finding.sites.size(), most); ++i) text += place(finding.sites[i]) + "\n";
    return finding.sites.size() > most ? text + "(+" + std::to_string(finding.sites.size() - most) + ")\n" : text;
  }

  // One, as schemas have it: a second finding of the case stands in the text of the first.
  static std::string failure(const Case& each) {
    if (!each.failed.empty()) return "      <failure type=\"gate\" message=\"" + xml(each.failed) + "\"/>\n";
    if (each.failures.empty()) return {};
    const Finding& first = *each.failures.front();
    std::string text = places(first);
    for (const Finding* finding : std::span(each.failures).subspan(1))
      text += finding->id + ": " + sentence(*finding) + "\n" + places(*finding);
    return "      <failure type=\"" + xml(first.id) + "\" message=\"" + xml(sentence(first)) + "\">" + xml(text) + "</failure>\n";
  }

  std::string text(const Case& each) const {
    std::string inner = failure(each);
    std::vector<std::string> skips;
    for (const Finding* finding : each.skips)
      skips.push_back(finding->id + " is allowed: " + finding->suppressed->reason + " (" + finding->suppressed->source + ")");
    if (!each.skipped.empty()) skips.push_back(each.skipped);
    for (std::size_t i = 0; i < skips.size(); ++i) {  // a case fails or is skipped only once
      if (i == 0 && each.is_skipped())
        inner += "      <skipped message=\"" + xml(skips[i]) + "\"/>\n";
      else
        inner += "      <system-out>" + xml(skips[i]) + "</system-out>\n";
    }
    for (const Finding* finding : each.printed)
      inner += "      <system-out>" + xml(finding->id + " " + std::string(word(finding->severity)) + ": " + sentence(*finding)) +
               "</system-out>\n";
    const std::string head = "    <testcase name=\"" + xml(each.name) + "\" classname=\"" +
                             xml(part_.title() + (each.group.empty() ? "" : "." + each.group)) + "\"";
    return inner.empty() ? head + "/>\n" : head + ">\n" + inner + "    </testcase>\n";
  }

  const Part& part_;
  std::vector<Case> cases_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

std::string junit(std::span<const Report> reports) {
  std::string suites;
  int tests = 0, failures = 0, errors = 0;
  for (const Part& part : parts_of(reports)) {
    const Suite suite(part);
    tests += suite.tests();
    failures += suite.failures();
    errors += suite.errors();
    suites += suite.text();
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"compatcheck\" tests=\"" + std::to_string(tests) +
         "\" failures=\"" + std::to_string(failures) + "\" errors=\"" + std::to_string(errors) + "\">\n" + suites +
         "</testsuites>\n";
}

}  // namespace compatcheck::report
