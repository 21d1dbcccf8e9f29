// What each format makes of names that nobody should give, and of more than its readers take.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/render.h"
#include "report/sample.h"
#include "report/source_files.h"

namespace compatcheck {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

Report report_of(std::vector<Finding> findings) {
  Report report = sample_report();
  report.targets.clear();
  report.findings = std::move(findings);
  return report;
}

TEST(Formats, SameBytesTwice) {
  for (const Format format : {Format::text, Format::json, Format::jsonl, Format::sarif, Format::junit, Format::github,
                              Format::gitlab, Format::markdown, Format::allowlist_yaml})
    EXPECT_EQ(render(sample_report(), format), render(sample_report(), format));
}

TEST(GitHub, EscapesWhatItWouldObey) {
  const std::string lines = render(sample_report(), Format::github);
  EXPECT_THAT(lines, HasSubstr("title=CC001 a|b<c>&\"'`*_[x](http%3A//y) @z #1 %250A %3A%3Awarning%3A%3A \\x1b[31m%0A]]> "
                               "(net.pt%2C opset 11)::a message"));
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) EXPECT_THAT(lines.substr(at), StartsWith("::"));
}

TEST(GitHub, SaysHowManyMoreThereAre) {
  const std::string ten = render(report_of(std::vector(10, sample_finding("CC001", Severity::error, 1))), Format::github);
  EXPECT_EQ(occurrences(ten, "::error "), 10U);
  EXPECT_THAT(ten, HasSubstr("::error title=compatcheck::1 more error;"));
  const std::string many = render(report_of(std::vector(50, sample_finding("CC101", Severity::warning, 1))), Format::github);
  EXPECT_EQ(occurrences(many, "::warning "), 10U);
  EXPECT_THAT(many, HasSubstr("::warning title=compatcheck::41 more warnings;"));
  EXPECT_EQ(
      occurrences(render(report_of(std::vector(9, sample_finding("CC001", Severity::error, 1))), Format::github), "::error "),
      9U);
}

TEST(Sarif, HoldsItsReadersLimits) {
  const Json places = Json::parse(render(report_of({sample_finding("CC001", Severity::error, 1500)}), Format::sarif));
  EXPECT_EQ(places["runs"][0]["results"][0]["locations"].size(), 100U);
  EXPECT_EQ(places["runs"][0]["results"][0]["occurrenceCount"], 1500);

  Finding spread = sample_finding("CC001", Severity::error, 30'000);
  for (Site& site : spread.sites) site.module = "layer" + std::to_string(site.index);
  const std::string text = render(report_of({spread}), Format::sarif);
  EXPECT_LE(text.size(), 10'000'000U);
  const Json run = Json::parse(text)["runs"][0];
  EXPECT_LE(run["results"].size(), 25'000U);
  EXPECT_GT(run["results"].size(), 1'000U);
  EXPECT_THAT(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(),
              EndsWith(" results left out: a file holds no more"));
  EXPECT_EQ(run["properties"]["findings"]["error"], 1);
}

Report report_at(const std::string& path, int opset, bool passes) {
  Report report = passes ? report_of({}) : report_of({sample_finding("CC001", Severity::error, 1)});
  report.model.path = path;
  report.opset = opset;
  report.verdict = passes ? Verdict::yes : Verdict::no;
  report.gate = {.passed = passes, .violations = !passes};
  report.exit_code = passes ? exit_passed : exit_findings;
  return report;
}

std::vector<std::string> fingerprints_of(const std::vector<Report>& reports, Format format) {
  const Json whole = Json::parse(render(reports, format));
  std::vector<std::string> all;
  if (format == Format::gitlab)
    for (const Json& each : whole) all.push_back(each["fingerprint"]);
  else
    for (const Json& each : whole["runs"][0]["results"]) all.push_back(each["partialFingerprints"]["compatcheck/v1"]);
  return all;
}

TEST(Sarif, HasOneRunWhateverIsInIt) {
  EXPECT_EQ(Json::parse(render(sample_report(), Format::sarif))["runs"].size(), 1U);  // with two engines
  EXPECT_EQ(Json::parse(render(std::vector<Report>{}, Format::sarif))["runs"].size(), 1U);
}

TEST(Fingerprints, AreTheModelsWhateverStandsBesideIt) {
  std::vector<Report> reports;
  for (int i = 0; i < 30; ++i) reports.push_back(report_at("m" + std::to_string(i) + ".pt", 17, false));
  for (const Format format : {Format::sarif, Format::gitlab}) {
    auto all = fingerprints_of(reports, format);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 30U);
    auto fewer = reports;
    fewer.erase(fewer.begin() + 10);
    all.erase(all.begin() + 10);
    EXPECT_EQ(fingerprints_of(fewer, format), all);
    const auto two = fingerprints_of({report_at("m.pt", 11, false), report_at("m.pt", 17, false)}, format);
    const auto mended = fingerprints_of({report_at("m.pt", 11, true), report_at("m.pt", 17, false)}, format);
    EXPECT_EQ(mended, std::vector{two[1]});
  }
}

// Of a range of opsets one is enough: the others fail nothing.
TEST(Ranges, FormatsForTrackersNameTheReportThatDecides) {
  std::vector<Report> reports{report_at("m.pt", 11, false), report_at("m.pt", 12, true), report_at("m.pt", 13, true)};
  for (Report& report : reports) report.gate.one_opset_is_enough = true;
  EXPECT_EQ(exit_code_of(reports), exit_passed);
  EXPECT_THAT(render(reports, Format::junit),
              AllOf(HasSubstr("m.pt opset 12"), Not(HasSubstr("m.pt opset 11")), Not(HasSubstr("<failure"))));
  EXPECT_THAT(render(reports, Format::github), AllOf(HasSubstr("m.pt opset 12"), Not(HasSubstr("::error"))));
  EXPECT_EQ(Json::parse(render(reports, Format::gitlab)).size(), 0U);
  EXPECT_EQ(Json::parse(render(reports, Format::sarif))["runs"][0]["results"].size(), 0U);
  EXPECT_EQ(Json::parse(render(reports, Format::json))["reports"].size(), 3U);
  EXPECT_EQ(Json::parse(render(reports, Format::json))["exit_code"], exit_passed);
  EXPECT_THAT(render(reports, Format::text), EndsWith("\nexit 0 (--fail-on unconvertible)\n"));
  for (Report& report : reports) report.gate.one_opset_is_enough = false;  // a list: all of them
  EXPECT_EQ(exit_code_of(reports), exit_findings);
  EXPECT_EQ(Json::parse(render(reports, Format::gitlab)).size(), 1U);
  EXPECT_EQ(occurrences(render(reports, Format::junit), "<failure"), 1U);
}

TEST(Names, OfModelsOfOneFileNameAreTheirPaths) {
  const std::vector reports{report_at("a/m.pt", 17, false), report_at("b/m.pt", 17, false)};
  for (const Format format : {Format::text, Format::junit, Format::github, Format::markdown})
    EXPECT_THAT(render(reports, format), AllOf(HasSubstr("a/m.pt"), HasSubstr("b/m.pt")));
  EXPECT_THAT(render(reports.front(), Format::markdown), StartsWith("# m.pt "));
}

TEST(Sarif, FingerprintsOutliveEdits) {
  const auto fingerprint = [](const Finding& finding) {
    return Json::parse(
               render(report_of({finding}), Format::sarif))["runs"][0]["results"][0]["partialFingerprints"]["compatcheck/v1"]
        .get<std::string>();
  };
  const Finding before = sample_finding("CC001", Severity::error, 2);
  Finding moved = before;
  for (Site& site : moved.sites) site.line += 10, site.index += 3, site.args = "foo(y)";
  moved.message = "other words";
  EXPECT_EQ(fingerprint(before), fingerprint(moved));
  for (const auto change : {+[](Finding& f) { f.id = "CC002"; }, +[](Finding& f) { f.op = "aten::bar"; },
                            +[](Finding& f) { f.overload = "out"; }, +[](Finding& f) { f.target = "tvm"; },
                            +[](Finding& f) {
                              for (Site& site : f.sites) site.module = "head";
                            }}) {
    Finding changed = before;
    change(changed);
    EXPECT_NE(fingerprint(before), fingerprint(changed));
  }
}

TEST(Junit, FailsWhatTheGateFails) {
  const auto suite = [](const std::vector<Finding>& findings, Gate gate) {
    Report report = report_of(findings);
    report.verdict = Verdict::no;
    report.gate = gate;
    return render(report, Format::junit);
  };
  const auto error = sample_finding("CC001", Severity::error, 1), note = sample_finding("CC004", Severity::note, 1),
             warning = sample_finding("CC901", Severity::warning, 0);
  EXPECT_EQ(occurrences(suite({error}, {.passed = true, .fail_on = FailOn::never}), "<failure"), 0U);
  EXPECT_EQ(occurrences(suite({error}, {.passed = false, .fail_on = FailOn::unconvertible}), "<failure"), 1U);
  EXPECT_EQ(occurrences(suite({error, note}, {.passed = false, .fail_on = FailOn::composite}), "type=\"CC001\""), 1U);
  EXPECT_EQ(occurrences(suite({note}, {.passed = false, .fail_on = FailOn::composite}), "<failure type=\"CC004\""), 1U);
  EXPECT_EQ(occurrences(suite({warning}, {.passed = false, .fail_on = FailOn::warning}), "<failure type=\"CC901\""), 1U);
  EXPECT_EQ(occurrences(suite({}, {.passed = false, .fail_on = FailOn::unconvertible}), "<failure type=\"gate\""),
            1U);  // its rule is off
  // One of a case, as schemas have it.
  EXPECT_EQ(occurrences(suite({error, error}, {.passed = false, .fail_on = FailOn::unconvertible}), "<failure"), 1U);
}

TEST(Text, QuietlyShowsWhatFailsTheGate) {
  Report report = report_of({sample_finding("CC004", Severity::note, 1), sample_finding("CC001", Severity::error, 1)});
  report.gate = {.passed = false, .fail_on = FailOn::composite};
  EXPECT_THAT(render(report, Format::text, {.quiet = true}), AllOf(HasSubstr("CC004"), HasSubstr("CC001")));
  report.gate = {.passed = false, .fail_on = FailOn::never, .max_missing = 0};
  report.summary.missing = 1;
  EXPECT_THAT(render(report, Format::text, {.quiet = true}),
              AllOf(Not(HasSubstr("CC004")), HasSubstr("CC001"), HasSubstr("(--fail-on never, --max-missing 0)")));
}

TEST(Text, VerdictsThatNeedInputsAreNotKnown) {
  Report open = report_at("m.pt", 11, true);
  open.verdict = Verdict::needs_input;
  open.summary.needs_input = 1;
  open.summary.lowest_opset.reset();
  open.targets = sample_report().targets;
  open.targets[0].support = Support::unknown;
  Report other = open;
  other.opset = 12;
  EXPECT_THAT(render(std::vector{open, other}, Format::text),
              AllOf(HasSubstr("from which opset it converts isn't known"), HasSubstr("lowest opset not known"),
                    Not(HasSubstr("no opset"))));
  open.summary = {};
  other.summary = {};
  EXPECT_THAT(render(std::vector{open, other}, Format::text),
              AllOf(HasSubstr("converts at no opset"), Not(HasSubstr("not known"))));  // then no engine takes it
}

TEST(Junit, HasNoLetterThatXmlForbids) {
  Finding finding = sample_finding("CC001", Severity::error, 1);
  finding.message = std::string("nul \0 bell \x07 broken \xff nonchar \xEF\xBF\xBE", 33);
  const std::string xml = render(report_of({finding}), Format::junit);
  EXPECT_THAT(xml, HasSubstr("nul \\x00 bell \\x07 broken \\xff nonchar \xEF\xBF\xBD"));
  EXPECT_THAT(render(sample_report(), Format::junit), HasSubstr("name=\"a|b&lt;c&gt;&amp;&quot;'`*_[x](http://y)"));
}

TEST(Markdown, HasNoMarkupOfAModel) {
  const std::string page = render(sample_report(), Format::markdown);
  EXPECT_THAT(page,
              HasSubstr("a\\|b&lt;c>&amp;\"'\\`\\*\\_[x\\](http&#58;//y) &#64;z &#35;1 %0A ::warning:: \\\\x1b[31m\\\\n]]>"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Allowlist, HasAnEntryForEachThatFails) {
  const std::string entries = render(sample_report(), Format::allowlist_yaml);
  EXPECT_EQ(occurrences(entries, "- rule: "), 3U);  // neither the note nor what is allowed already
  EXPECT_THAT(entries, HasSubstr("  - rule: CC101\n    op: aten::foo\n    target: \"tensorrt@10.15\"\n    reason: \"\""));
  EXPECT_THAT(entries, HasSubstr("  - rule: CC006\n    reason: \"\""));
  EXPECT_THAT(entries, HasSubstr("op: \"a|b<c>&\\\"'`?_?x](http://y) @z #1 %0A ::warning:: ??31m?]]>\""));
  EXPECT_THAT(render(report_of({}), Format::allowlist_yaml), EndsWith("allow: []\n"));
}

TEST(Text, FitsSixtyColumns) {
  const auto widest = [](const std::string& page) {
    std::size_t most = 0;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t end = page.find('\n', at);
      most = std::max<std::size_t>(
          most, static_cast<std::size_t>(std::count_if(page.begin() + static_cast<std::ptrdiff_t>(at),
                                                       page.begin() + static_cast<std::ptrdiff_t>(end),
                                                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; })));
      at = end + 1;
    }
    return most;
  };
  Report report = report_of({sample_finding("CC001", Severity::error, 3), sample_finding("CC005", Severity::error, 1)});
  report.operators[1].op = "aten::bar";
  report.operators[0].rows.clear();
  EXPECT_LE(widest(render(report, Format::text, {.width = 60})), 60U);
  std::vector<Report> opsets(14, report);
  for (std::size_t i = 0; i < opsets.size(); ++i) opsets[i].opset = 7 + static_cast<int>(i);
  opsets[12].verdict = opsets[13].verdict = Verdict::yes;
  const std::string page = render(opsets, Format::text, {.width = 60});
  EXPECT_LE(widest(page), 60U);
  EXPECT_THAT(page, HasSubstr("  opset 7 ××××××××××××■■······ 26\n"));
}

TEST(Text, SumsUpWhatBlocksMostModels) {
  Report one = report_of({}), other = one;
  one.operators[1].op = "aten::bar";
  other.model.path = "other.pt";
  other.operators.erase(other.operators.begin() + 1);
  const std::vector reports{one, other, failure_report("junk.pt", std::runtime_error("no model"))};
  EXPECT_THAT(render(reports, Format::text),
              EndsWith("missing in most models\n"
                       "  aten::foo                          2 models      10 nodes\n"
                       "  aten::bar                           1 model        1 node\n"
                       "\n0 of 3 models convert · 1 not checked\nexit 3 (--fail-on conditional, --max-missing 1)\n"));
}

TEST(SourceFiles, AreFoundByTheEndsOfTheirPaths) {
  const auto root = std::filesystem::temp_directory_path() / ("source_files_test" + std::to_string(::getpid()));
  std::filesystem::create_directories(root / "models");
  std::ofstream(root / "models" / "net.py") << "pass\n";
  report::SourceFiles files(root);
  EXPECT_EQ(files.find("/home/somebody/project/models/net.py"), "models/net.py");
  EXPECT_EQ(files.find("models/net.py"), "models/net.py");
  EXPECT_EQ(files.find("net.py"), std::nullopt);
  EXPECT_EQ(files.find("../" + root.filename().string() + "/models/net.py"), std::nullopt);
  EXPECT_EQ(files.find(""), std::nullopt);
  const Site site{.index = 0, .module = "", .file = "/x/models/net.py", .line = 3, .function = "", .args = ""},
      elsewhere{.index = 0, .module = "", .file = "/x/other.py", .line = 3, .function = "", .args = ""};
  EXPECT_EQ(files.place(sample_report(), &site).line, 3);
  EXPECT_EQ(files.place(sample_report(), &elsewhere).file, "models/net.pt");
  EXPECT_EQ(files.place(report_at((std::filesystem::current_path() / "models" / "net.pt").string(), 17, true), nullptr).file,
            "models/net.pt");
  EXPECT_EQ(files.place(report_at("/elsewhere/net.pt", 17, true), nullptr).file, "/elsewhere/net.pt");
  EXPECT_EQ(report::SourceFiles({}).find("models/net.py"), std::nullopt);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace compatcheck
