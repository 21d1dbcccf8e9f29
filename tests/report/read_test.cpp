// Saved reports are read back as they were; what is none is refused with its place.
#include <gmock/gmock.h>

#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/render.h"
#include "report/sample.h"

namespace compatcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<Report> several() { return {sample_report(), failure_report("junk.pt", std::runtime_error("no model\nat all")), sample_report()}; }

std::string replaced(std::string text, const std::string& from, const std::string& to) { return text.replace(text.find(from), from.size(), to); }

TEST(Read, GivesBackEveryField) {
  for (const Format format : {Format::json, Format::jsonl}) {
    const std::string saved = render(several(), format);
    EXPECT_EQ(render(read_reports(saved), format), saved);
    const std::string one = render(sample_report(), format);
    EXPECT_EQ(render(read_reports(one), format), one);
  }
  const std::string list = render(sample_report(), Format::json, {.as_list = true});
  EXPECT_EQ(render(read_reports(list), Format::json, {.as_list = true}), list);
}

TEST(Read, RendersAsTheReportItself) {
  const auto reports = several(), read = read_reports(render(reports, Format::json));
  for (const Format format : {Format::text, Format::sarif, Format::junit, Format::github, Format::gitlab, Format::markdown, Format::allowlist_yaml}) {
    EXPECT_EQ(render(read, format, {.verbosity = 2}), render(reports, format, {.verbosity = 2}));
    EXPECT_EQ(render(read.front(), format, {.verbosity = 2}), render(reports.front(), format, {.verbosity = 2}));
  }
}

TEST(Read, LeavesOutALineThatWasCutOff) {
  const std::string lines = render(several(), Format::jsonl);
  EXPECT_EQ(read_reports(std::string_view(lines).substr(0, lines.size() - 1)).size(), 3U);   // whole, but for the newline
  EXPECT_EQ(read_reports(std::string_view(lines).substr(0, lines.size() - 2)).size(), 2U);
  EXPECT_EQ(read_reports(std::string_view(lines).substr(0, 100)).size(), 0U);
  EXPECT_EQ(read_reports("").size(), 0U);
  EXPECT_EQ(read_reports(" \n\n").size(), 0U);
  EXPECT_THAT([&] { read_reports(lines + "{\"schema_ver\n"); }, ThrowsMessage<ModelError>("line 4: is no JSON"));
}

TEST(Read, TakesKeysThatItDoesNotKnow) {
  const std::string saved = render(sample_report(), Format::jsonl);
  EXPECT_EQ(render(read_reports(replaced(saved, "\"opset\"", "\"later\":[1],\"opset\"")), Format::jsonl), saved);
}

TEST(Read, NamesThePlaceOfWhatIsWrong) {
  const std::string saved = render(sample_report(), Format::json);
  const auto refuses = [](const std::string& text, const std::string& message) { EXPECT_THAT([&] { read_reports(text); }, ThrowsMessage<ModelError>(HasSubstr(message))); };
  refuses(replaced(saved, "\"opset\"", "\"opsat\""), "expected a key \"opset\"");
  refuses(replaced(saved, "\"verdict\": \"no\"", "\"verdict\": \"perhaps\""), "verdict: expected one of yes, no, needs_input");
  refuses(replaced(saved, "\"nodes\": 12", "\"nodes\": -1"), "summary.nodes: expected a whole number from 0 to 2147483647");
  refuses(replaced(saved, "\"nodes\": 12", "\"nodes\": 2147483648"), "summary.nodes: expected a whole number");
  refuses(replaced(saved, "\"coverage_nodes\": 0.3", "\"coverage_nodes\": 1.3"), "summary.coverage_nodes: expected a number from 0 to 1");
  refuses(replaced(saved, "\"line\": 1", "\"line\": \"1\""), "findings[0].sites[0].line: expected a whole number");
  refuses(replaced(saved, "\"theirs.yaml:4\"", "\"theirs.yaml\""), "operators[0].rows[1].place: expected FILE:LINE");
  refuses(render(several(), Format::json).replace(0, 1, "["), "is no saved report");
  refuses(saved.substr(0, saved.size() / 2), "cut short, at byte");
  refuses("[]", "is JSON, but no report");
  refuses("{\"schema_version\": \"2.0\"}", "schema_version: expected \"1.0\", this version's, not \"2.0\"");
  refuses("{\"schema_version\": \"1.0\", \"reports\": [{}]}", "is JSON, but no report");
  refuses("graph(%x : Tensor):", "is no saved report");
  refuses(std::string(1'000'000, '['), "is no saved report");
}

TEST(Read, HoldsAGraphTogether) {
  const std::string saved = render(sample_report(), Format::jsonl);
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0]]", "[1,0,\"ok\",[2]]")); }, ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1][3][0]: expected a place in a list of 2")));
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0]]", "[2,0,\"ok\",[0]]")); }, ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1][0]: expected a place in a list of 2")));
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0]]", "[1,0,\"ok\"]")); }, ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1]: expected an item 3")));
}

}  // namespace
}  // namespace compatcheck
