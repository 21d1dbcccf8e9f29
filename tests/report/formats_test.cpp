// What each format makes of names that nobody should give, and of more than its readers take.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "compatcheck/check.h"
#include "compatcheck/render.h"
#include "report/sample.h"
#include "report/source_files.h"

namespace compatcheck {
namespace {

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
  for (const Format format : {Format::text, Format::json, Format::jsonl, Format::sarif, Format::junit, Format::github, Format::gitlab, Format::markdown, Format::allowlist_yaml})
    EXPECT_EQ(render(sample_report(), format), render(sample_report(), format));
}

TEST(GitHub, EscapesWhatItWouldObey) {
  const std::string lines = render(sample_report(), Format::github);
  EXPECT_THAT(lines, HasSubstr("title=CC001 a|b<c>&\"'`*_[x](http%3A//y) @z #1 %250A %3A%3Awarning%3A%3A \\x1b[31m%0A]]> (net.pt%2C opset 11)::a message"));
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) EXPECT_THAT(lines.substr(at), StartsWith("::"));
}

TEST(GitHub, SaysHowManyMoreThereAre) {
  const std::string ten = render(report_of(std::vector(10, sample_finding("CC001", Severity::error, 1))), Format::github);
  EXPECT_EQ(occurrences(ten, "::error "), 10U);
  EXPECT_THAT(ten, HasSubstr("::error title=compatcheck::1 more error;"));
  const std::string many = render(report_of(std::vector(50, sample_finding("CC101", Severity::warning, 1))), Format::github);
  EXPECT_EQ(occurrences(many, "::warning "), 10U);
  EXPECT_THAT(many, HasSubstr("::warning title=compatcheck::41 more warnings;"));
  EXPECT_EQ(occurrences(render(report_of(std::vector(9, sample_finding("CC001", Severity::error, 1))), Format::github), "::error "), 9U);
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
  EXPECT_THAT(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(), EndsWith(" results left out: a file holds no more"));
  EXPECT_EQ(run["properties"]["findings"]["error"], 1);
}

TEST(Sarif, HasARunForEachModelAndEngineWhileAFileHoldsThem) {
  EXPECT_EQ(Json::parse(render(sample_report(), Format::sarif))["runs"].size(), 3U);   // by itself, and two engines
  EXPECT_EQ(Json::parse(render(std::vector(20, report_of({})), Format::sarif))["runs"].size(), 20U);
  const Json many = Json::parse(render(std::vector(21, report_of({sample_finding("CC001", Severity::error, 1)})), Format::sarif));
  ASSERT_EQ(many["runs"].size(), 1U);
  EXPECT_EQ(many["runs"][0]["results"].size(), 21U);
  std::set<std::string> fingerprints;
  for (const Json& result : many["runs"][0]["results"]) fingerprints.insert(result["partialFingerprints"]["compatcheck/v1"]);
  EXPECT_EQ(fingerprints.size(), 21U);
}

TEST(Sarif, FingerprintsOutliveEdits) {
  const auto fingerprint = [](const Finding& finding) {
    return Json::parse(render(report_of({finding}), Format::sarif))["runs"][0]["results"][0]["partialFingerprints"]["compatcheck/v1"].get<std::string>();
  };
  const Finding before = sample_finding("CC001", Severity::error, 2);
  Finding moved = before;
  for (Site& site : moved.sites) site.line += 10, site.index += 3, site.args = "foo(y)";
  moved.message = "other words";
  EXPECT_EQ(fingerprint(before), fingerprint(moved));
  for (const auto change : {+[](Finding& f) { f.id = "CC002"; }, +[](Finding& f) { f.op = "aten::bar"; }, +[](Finding& f) { f.overload = "out"; },
                            +[](Finding& f) { f.target = "tvm"; }, +[](Finding& f) { for (Site& site : f.sites) site.module = "head"; }}) {
    Finding changed = before;
    change(changed);
    EXPECT_NE(fingerprint(before), fingerprint(changed));
  }
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
  EXPECT_THAT(page, HasSubstr("a\\|b&lt;c>&amp;\"'\\`\\*\\_[x\\](http&#58;//y) &#64;z &#35;1 %0A ::warning:: \\\\x1b[31m\\\\n]]>"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Allowlist, HasAnEntryForEachThatFails) {
  const std::string entries = render(sample_report(), Format::allowlist_yaml);
  EXPECT_EQ(occurrences(entries, "- rule: "), 3U);   // neither the note nor what is allowed already
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
      most = std::max<std::size_t>(most, static_cast<std::size_t>(std::count_if(page.begin() + static_cast<std::ptrdiff_t>(at), page.begin() + static_cast<std::ptrdiff_t>(end),
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
  EXPECT_THAT(render(reports, Format::text), EndsWith("missing in most models\n"
                                                      "  aten::foo                          2 models      10 nodes\n"
                                                      "  aten::bar                           1 model        1 node\n"
                                                      "\n0 of 3 models convert · 1 not checked\n"));
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
  const Site site{.index = 0, .module = "", .file = "/x/models/net.py", .line = 3, .function = "", .args = ""}, elsewhere{.index = 0, .module = "", .file = "/x/other.py", .line = 3, .function = "", .args = ""};
  EXPECT_EQ(files.place(sample_report(), &site).line, 3);
  EXPECT_EQ(files.place(sample_report(), &elsewhere).file, "models/net.pt");
  EXPECT_EQ(report::SourceFiles({}).find("models/net.py"), std::nullopt);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace compatcheck
