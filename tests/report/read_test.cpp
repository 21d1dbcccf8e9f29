// Saved reports are read back as they were; what is none is refused with its place.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/render.h"
#include "report/sample.h"

namespace compatcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::ordered_json;

std::vector<Report> several() {
  return {sample_report(), failure_report("junk.pt", std::runtime_error("no model\nat all")), sample_report()};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

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
  for (const Format format :
       {Format::text, Format::sarif, Format::junit, Format::github, Format::gitlab, Format::markdown, Format::allowlist_yaml}) {
    EXPECT_EQ(render(read, format, {.verbosity = 2}), render(reports, format, {.verbosity = 2}));
    EXPECT_EQ(render(read.front(), format, {.verbosity = 2}), render(reports.front(), format, {.verbosity = 2}));
  }
}

TEST(Read, RefusesWhatWasCutShort) {
  const std::string lines = render(several(), Format::jsonl);
  EXPECT_EQ(read_reports(std::string_view(lines).substr(0, lines.size() - 1)).size(), 3U);  // whole, but for the newline
  const std::string one = render(sample_report(), Format::jsonl);
  const auto refuses = [](const std::string& text, const std::string& message) {
    EXPECT_THAT([&] { read_reports(text); }, ThrowsMessage<ModelError>(message));
  };
  refuses(lines.substr(0, lines.size() - 2), "line 3: is no JSON object, or cut short");
  refuses(lines.substr(0, 100), "line 1: is no JSON object, or cut short");
  refuses(lines + "{\"schema_ver\n", "line 4: is no JSON object, or cut short");
  refuses(one + "xx", "line 2: is no JSON object, or cut short");
  refuses(one.substr(0, one.size() - 1) + one, "line 1: is no JSON object, or cut short");
  refuses("", "holds no report");
  refuses(" \n\n", "holds no report");
}

TEST(Read, TakesTheReportOfARunWithoutModels) {
  for (const Format format : {Format::json, Format::jsonl}) {
    const std::string saved = render(std::span<const Report>(), format);
    EXPECT_TRUE(read_reports(saved).empty());
    EXPECT_EQ(std::ranges::count(saved, '\n') == 1, format == Format::jsonl) << saved;
  }
}

TEST(Read, TakesKeysThatItDoesNotKnow) {
  const std::string saved = render(sample_report(), Format::jsonl);
  EXPECT_EQ(render(read_reports(replaced(saved, "\"opset\"", "\"later\":[1],\"opset\"")), Format::jsonl), saved);
}

TEST(Read, NamesThePlaceOfWhatIsWrong) {
  const std::string saved = render(sample_report(), Format::json);
  const auto refuses = [](const std::string& text, const std::string& message) {
    EXPECT_THAT([&] { read_reports(text); }, ThrowsMessage<ModelError>(HasSubstr(message)));
  };
  refuses(replaced(saved, "\"opset\"", "\"opsat\""), "expected a key \"opset\"");
  refuses(replaced(saved, "\"verdict\": \"no\"", "\"verdict\": \"perhaps\""), "verdict: expected one of yes, no, needs_input");
  refuses(replaced(saved, "\"nodes\": 12", "\"nodes\": -1"), "summary.nodes: expected a whole number from 0 to 2147483647");
  refuses(replaced(saved, "\"nodes\": 12", "\"nodes\": 2147483648"), "summary.nodes: expected a whole number");
  refuses(replaced(saved, "\"coverage_nodes\": 0.3", "\"coverage_nodes\": 1.3"),
          "summary.coverage_nodes: expected a number from 0 to 1");
  refuses(replaced(saved, "\"line\": 1", "\"line\": \"1\""), "findings[0].sites[0].line: expected a whole number");
  refuses(replaced(saved, "\"theirs.yaml:4\"", "\"theirs.yaml\""), "operators[0].rows[1].place: expected FILE:LINE");
  refuses(render(several(), Format::json).replace(0, 1, "["), "is no saved report");
  refuses(saved.substr(0, saved.size() / 2), "cut short, at byte");
  refuses("[]", "is JSON, but no report");
  refuses("{\"schema_version\": \"2.0\"}", "schema_version: expected \"1.0\", this version's, not \"2.0\"");
  refuses("{\"schema_version\": \"1.0\", \"reports\": [{}]}", "is JSON, but no report");
  refuses("graph(%x : Tensor):", "is no saved report");
  refuses("{\"schema_version\": 1e999}", "holds a number that is beyond all bounds");
  refuses(std::string(1'000'000, '['), "is no saved report");
}

Report quantized_report() {
  Report report = sample_report();
  report.model.inputs = {{.name = "x",
                          .dtype = "qi8",
                          .shape = std::vector<std::string>{"2", "3"},
                          .quantization = Quantization{.scales = {1.5}, .zero_points = {-3}, .onnx_dtype = "i8"}}};
  report.model.outputs = {
      {.name = "y",
       .dtype = "qu8",
       .shape = std::vector<std::string>{"2", "3"},
       .quantization = Quantization{.scales = {0.5, 2}, .zero_points = {0, 7}, .axis = 0, .onnx_dtype = "f32"}}};
  return report;
}

TEST(Read, GivesBackScalesAndZeroPoints) {
  const std::string saved = render(quantized_report(), Format::json);
  EXPECT_EQ(render(read_reports(saved), Format::json), saved);
  EXPECT_EQ(render(read_reports(saved), Format::text), render(quantized_report(), Format::text));
}

TEST(Read, RefusesScalesWithoutTheirZeroPoints) {
  const Json saved = Json::parse(render(quantized_report(), Format::json));
  const auto refuses = [&](const std::string& place, const Json& other, const std::string& message) {
    Json changed = saved;
    changed[Json::json_pointer(place)] = other;
    EXPECT_THAT([&] { read_reports(changed.dump()); }, ThrowsMessage<ModelError>(HasSubstr(message))) << place << other;
  };
  const std::string input = "/model/inputs/0/quantization", output = "/model/outputs/0/quantization";
  refuses(input + "/scales", Json::array(), "model.inputs[0].quantization.zero_points: expected as many items as \"scales\" has");
  refuses(input, {{"scales", Json::array()}, {"zero_points", Json::array()}, {"onnx_dtype", "i8"}},
          "model.inputs[0].quantization.scales: expected one item without \"axis\"");
  refuses(input, {{"scales", {1, 2}}, {"zero_points", {0, 0}}, {"onnx_dtype", "i8"}},
          "model.inputs[0].quantization.scales: expected one item without \"axis\"");
  refuses(output + "/zero_points", {0}, "model.outputs[0].quantization.zero_points: expected as many items as \"scales\" has");
  refuses(output, {{"scales", Json::array()}, {"zero_points", Json::array()}, {"axis", 0}, {"onnx_dtype", "f32"}},
          "model.outputs[0].quantization.scales: expected at least one item");
  refuses(output + "/axis", -1, "model.outputs[0].quantization.axis: expected a dimension from 0");
  refuses(input + "/zero_points", {1.5}, "model.inputs[0].quantization.zero_points[0]: expected a whole number");
  refuses(input + "/zero_points", {9223372036854775808U}, "model.inputs[0].quantization.zero_points[0]: expected a whole number");
}

TEST(Read, HoldsAGraphTogether) {
  const std::string saved = render(sample_report(), Format::jsonl);
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0],1,1,1]", "[1,0,\"ok\",[2],1,1,1]")); },
              ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1][3][0]: expected a place in a list of 2")));
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0],1,1,1]", "[2,0,\"ok\",[0],1,1,1]")); },
              ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1][0]: expected a place in a list of 2")));
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0],1,1,1]", "[1,0,\"ok\"]")); },
              ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1]: expected an item 3")));
  EXPECT_THAT([&] { read_reports(replaced(saved, "[1,0,\"ok\",[0],1,1,1]", "[1,0,\"ok\",[0],1,2,1]")); },
              ThrowsMessage<ModelError>(HasSubstr("graph.nodes[1][5]: expected a place in a list of 2")));
}

// The places of all values, as JSON pointers.
std::vector<Json::json_pointer> places(const Json& json) {
  std::vector<Json::json_pointer> all;
  const Json flat = json.flatten();
  for (const auto& [place, value] : flat.items()) {
    for (Json::json_pointer at(place); !at.empty(); at = at.parent_pointer())
      if (std::ranges::find(all, at) == all.end()) all.push_back(at);
  }
  return all;
}

// Rendered by every format, or refused.
void read_and_render(const std::string& text) {
  try {
    const auto reports = read_reports(text);
    for (const Format format :
         {Format::text, Format::sarif, Format::junit, Format::github, Format::gitlab, Format::markdown, Format::allowlist_yaml})
      render(reports, format);
    const std::string saved = render(reports, Format::jsonl);
    EXPECT_EQ(render(read_reports(saved), Format::jsonl), saved);
  } catch (const ModelError&) {
  }
}

TEST(Read, EndsWithReportsOrAModelErrorWhateverAValueIs) {
  const Json report = Json::parse(render(quantized_report(), Format::json));
  const Json others[] = {
      nullptr, true, -1, 0, 2147483647, 1e300, "", "text", Json::array(), Json::object(), Json::array({report})};
  for (const auto& place : places(report)) {
    for (const Json& other : others) {
      Json changed = report;
      changed[place] = other;
      read_and_render(changed.dump());
    }
    Json less = report;
    if (less[place.parent_pointer()].is_object()) less[place.parent_pointer()].erase(place.back());
    read_and_render(less.dump());
  }
}

TEST(Read, EndsWithReportsOrAModelErrorWhateverAByteIs) {
  const std::string saved = render(several(), Format::jsonl);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string changed = saved;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = "{}[]\",:0-9\\nt\xff"[random() % 14];
    if (round % 2) changed.resize(random() % changed.size());
    read_and_render(changed);
  }
}

}  // namespace
}  // namespace compatcheck
