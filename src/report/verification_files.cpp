// The proof of a model as JUnit XML and as markdown.
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "compatcheck/printable.h"
#include "report/enumerator_names.h"
#include "report/page.h"
#include "report/report_text.h"
#include "report/style.h"
#include "report/verification.h"
#include "report/xml.h"
#include "verification/conclusion.h"

namespace compatcheck::report {
namespace {

struct SuiteCase {
  std::string name;
  std::vector<const Finding*> failures, printed;
};

// A finding's message begins with its subject.
std::vector<SuiteCase> cases_of(const Verification& made) {
  std::vector<SuiteCase> cases;
  std::vector<std::string> leads;
  for (const auto& output : made.outputs) {
    cases.push_back({"output " + output.name, {}, {}});
    leads.push_back("output '" + output.name + "'");
  }
  for (const auto& dimension : made.dimensions) {
    if (dimension.variation == NamedDimension::Variation::fixed) continue;
    cases.push_back({"dimension " + dimension.name, {}, {}});
    leads.push_back("the dimension '" + dimension.name + "'");
  }
  for (const Finding& finding : made.findings) {
    const auto lead = std::ranges::find_if(leads, [&](const std::string& each) { return finding.message.starts_with(each); });
    const auto number = static_cast<std::size_t>(lead - leads.begin());
    if (number == leads.size()) {
      cases.push_back({finding.id, {}, {}});
      leads.push_back(finding.message);
    }
    SuiteCase& place = cases[number];
    (verification::violates(finding, made) ? place.failures : place.printed).push_back(&finding);
  }
  if (made.report) {
    for (const Finding& finding : made.report->findings)
      if (finding.severity == Severity::error) cases.push_back({full_name(finding.op, finding.overload), {&finding}, {}});
    if (cases.empty()) cases.push_back({"conversion", {}, {}});
  }
  return cases;
}

std::string sentence_of(const Finding& finding) { return finding.message + (finding.help.empty() ? "" : " → " + finding.help); }

std::string fixed(const char* form, double value) {
  char text[32];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string variation(const NamedDimension& dimension) {
  switch (dimension.variation) {
    case NamedDimension::Variation::alone: return "by itself";
    case NamedDimension::Variation::together: return "with the others only";
    case NamedDimension::Variation::fixed: return "fixed";
    case NamedDimension::Variation::none: return "doesn't vary";
  }
  return {};
}

Table output_table(const Verification& made) {
  Table table{"Outputs", {"output", "type", "passes", "max abs", "max rel", "cosine", "noise", "difference"}, {}};
  for (const auto& output : made.outputs) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : output.shape) sizes.push_back(std::to_string(size));
    const bool compared = output.elements > 0 || output.passed;
    const auto figure = [&](const char* format, double value) { return compared ? fixed(format, value) : std::string("–"); };
    table.rows.push_back(
        {{printable(output.name), output.dtype == "None" ? output.dtype : output.dtype + shape(sizes),
          output.passed ? "yes" : "no", figure("%.1e", output.max_abs), figure("%.1e", output.max_rel),
          figure("%.6f", output.cosine), output.noise_abs > 0 ? fixed("%.1e", output.noise_abs) : "", output.difference}});
  }
  return table;
}

Table dimension_table(const Verification& made) {
  Table table{"Named dimensions", {"dimension", "sizes", "varies"}, {}};
  for (const auto& dimension : made.dimensions) {
    std::string sizes;
    for (const std::int64_t size : dimension.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    table.rows.push_back({{printable(dimension.name), sizes, variation(dimension)}});
  }
  return table;
}

Table findings_of(const Verification& made) {
  Table table{"Findings", {"rule", "severity", "what", "what to do"}, {}, "place"};
  const auto add = [&](const Finding& finding) {
    std::vector<std::string> places;
    for (const Site& site : finding.sites) places.push_back(printable(place(site)));
    table.rows.push_back({{finding.id, std::string(word(finding.severity)), printable(finding.message), printable(finding.help)},
                          std::move(places)});
  };
  for (const Finding& finding : made.findings) add(finding);
  if (made.report)
    for (const Finding& finding : made.report->findings)
      if (finding.severity == Severity::error) add(finding);
  return table;
}

std::string counts_of(const VerificationSuite& suite) {
  return "tests=\"" + std::to_string(suite.tests) + "\" failures=\"" + std::to_string(suite.failures) + "\" errors=\"" +
         std::to_string(suite.errors) + "\"";
}

}  // namespace

std::string outcome_words(const Verification& made) {
  return made.error ? "not run" : made.report ? "not convertible" : made.passed ? "verified" : "not verified";
}

VerificationSuite suite(const Verification& made) {
  std::string cases;
  VerificationSuite whole;
  const std::string title = made.model + (made.onnx.empty() ? "" : " " + made.onnx) + " verify";
  for (const SuiteCase& each : cases_of(made)) {
    ++whole.tests;
    std::string inner;
    if (!each.failures.empty()) {
      ++whole.failures;
      std::string text;
      for (const Finding* finding : each.failures) text += finding->id + ": " + sentence_of(*finding) + "\n";
      inner += "      <failure type=\"" + xml(each.failures.front()->id) + "\" message=\"" + xml(each.failures.front()->message) +
               "\">" + xml(text) + "</failure>\n";
    }
    for (const Finding* finding : each.printed)
      inner += "      <system-out>" +
               xml(finding->id + " " + std::string(word(finding->severity)) + ": " + sentence_of(*finding)) + "</system-out>\n";
    const std::string head = "    <testcase name=\"" + xml(each.name) + "\" classname=\"" + xml(title) + "\"";
    cases += inner.empty() ? head + "/>\n" : head + ">\n" + inner + "    </testcase>\n";
  }
  if (made.error) {
    whole.tests = whole.errors = 1;
    cases = "    <testcase name=\"verify\" classname=\"" + xml(title) + "\">\n      <error message=\"" + xml(*made.error) +
            "\"/>\n    </testcase>\n";
  }
  whole.xml = "  <testsuite name=\"" + xml(title) + "\" " + counts_of(whole) +
              " skipped=\"0\">\n    <properties>\n      <property name=\"exit_code\" value=\"" + std::to_string(made.exit_code) +
              "\"/>\n      <property name=\"verdict\" value=\"" + xml(outcome_words(made)) + "\"/>\n    </properties>\n" + cases +
              "  </testsuite>\n";
  return whole;
}

std::string junit(const VerificationSuite& all) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"compatcheck\" " + counts_of(all) + ">\n" + all.xml +
         "</testsuites>\n";
}

std::string junit(const Verification& made) { return junit(suite(made)); }

Page page(const Verification& made) {
  Page page{
      printable(made.model) + (made.onnx.empty() ? "" : " · " + printable(made.onnx)) + " · " + outcome_words(made), {}, {}};
  if (made.error) {
    page.lines.push_back(printable(*made.error));
    return page;
  }
  if (!made.report)
    page.lines.push_back(count(static_cast<long long>(made.runs.size()), "run") + ", seed " + std::to_string(made.seed) +
                         ", ONNX Runtime " + made.runtime + ". Exit code " + std::to_string(made.exit_code) + ".");
  if (!made.note.empty()) page.lines.push_back(printable(made.note));
  if (made.first_bad)
    page.lines.push_back("First bad value: " + printable(made.first_bad->op) + ", " + printable(place(made.first_bad->site)) +
                         ": " + printable(made.first_bad->difference));
  page.tables = {output_table(made), dimension_table(made), findings_of(made)};
  return page;
}

std::string markdown(const Verification& made) { return markdown(page(made)); }

std::string html(const Verification& made) {
  const Page whole = page(made);
  return html_of_sections(whole.title, std::array{html_section(whole)});
}

}  // namespace compatcheck::report
