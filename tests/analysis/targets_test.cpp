// --target: the model held against engines, opset by opset.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "compatcheck/check.h"
#include "compatcheck/error.h"

namespace compatcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Model load_text(std::string_view text) { return Loader().load(std::as_bytes(std::span(text)), "graph.ir"); }

Report checked(std::string_view graph, int opset, std::vector<std::string> targets) {
  return check(load_text(graph), {.opset = opset, .targets = std::move(targets)});
}

const Finding* engine_finding(const Report& report) {
  const auto found = std::ranges::find_if(report.findings, [](const Finding& finding) { return finding.target.has_value(); });
  return found == report.findings.end() ? nullptr : &*found;
}

// A profile in a file of its own, as a user has one.
std::string profile(const std::string& text) {
  static int number = 0;
  const auto file = std::filesystem::path(testing::TempDir()) / ("profile_" + std::to_string(number++) + ".yaml");
  std::ofstream(file) << "engine: acme\nversion: \"1\"\n" << text;
  return file.string();
}

constexpr const char* relu_tanh = R"(graph(%x : Float(2, 3)):
  %r : Float(2, 3) = aten::relu(%x)
  %t : Float(2, 3) = aten::tanh(%r)
  return (%t)
)";

constexpr const char* erf_of_doubles = R"(graph(%x : Double(2, 3)):
  %y : Double(2, 3) = aten::erf(%x)
  return (%y)
)";

constexpr const char* relu_inverse = R"(graph(%x : Float(3, 3)):
  %r : Float(3, 3) = aten::relu(%x)
  %rcond : float = prim::Constant[value=1e-15]()
  %i : Float(3, 3) = aten::pinverse(%r, %rcond)
  return (%i)
)";

constexpr const char* inverse_relu = R"(graph(%x : Float(3, 3)):
  %i : Tensor = acme::inverse(%x)
  %r : Tensor = aten::relu(%i)
  return (%r)
)";

// aten::logaddexp becomes several nodes, some of one operator.
constexpr const char* logaddexp_twice = R"(graph(%x : Double(2, 3), %z : Double(2, 3)):
  %a : Double(2, 3) = aten::logaddexp(%x, %z), scope: __module.first
  %b : Double(2, 3) = aten::logaddexp(%a, %z), scope: __module.second
  return (%b)
)";

TEST(Targets, that_take_all) {
  const Report report = checked(relu_tanh, 17, {"ort-cpu", "tensorrt"});
  ASSERT_EQ(report.targets.size(), 2U);
  for (const auto& target : report.targets) {
    EXPECT_EQ(target.support, Support::yes) << target.target;
    EXPECT_EQ(target.nodes, 2);
    EXPECT_EQ(target.supported, 2);
    EXPECT_EQ(target.partitions, 1);
  }
  EXPECT_EQ(report.targets[0].lowest_opset, 7);
  EXPECT_EQ(report.targets[1].lowest_opset, 9);
  EXPECT_EQ(report.targets_lowest_opset, 9);
  EXPECT_FALSE(engine_finding(report));
}

TEST(Targets, no_target) {
  const Report report = checked(relu_tanh, 17, {});
  EXPECT_THAT(report.targets, IsEmpty());
  EXPECT_EQ(report.targets_lowest_opset, std::nullopt);
}

TEST(Targets, an_operator_that_is_lacking) {
  const Report report = checked(relu_tanh, 17, {profile("unlisted: no\noperators: {Relu: yes}\nfallback: the CPU runs it\n")});
  const auto& target = report.targets.front();
  EXPECT_EQ(target.target, "acme@1");
  EXPECT_EQ(target.support, Support::no);
  EXPECT_EQ(target.supported, 1);
  EXPECT_EQ(target.unsupported, 1);
  EXPECT_EQ(target.lowest_opset, std::nullopt);
  ASSERT_EQ(target.operators.size(), 2U);
  EXPECT_EQ(target.operators[1].onnx, "Tanh");
  EXPECT_EQ(target.operators[1].support, Support::no);
  const Finding* finding = engine_finding(report);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "CC101");
  EXPECT_EQ(finding->severity, Severity::warning);
  EXPECT_EQ(finding->op, "aten::tanh");
  EXPECT_EQ(finding->message, "the engine doesn't support Tanh");
  EXPECT_EQ(finding->target, "acme@1");
  EXPECT_THAT(finding->help, HasSubstr("otherwise the CPU runs it"));
  ASSERT_EQ(finding->sites.size(), 1U);
  EXPECT_EQ(finding->sites.front().index, 1U);
  EXPECT_TRUE(report.gate.passed) << "a warning";
}

TEST(Targets, warnings_fail_a_gate_on_warnings) {
  const Report report =
      check(load_text(relu_tanh),
            {.opset = 17, .fail_on = FailOn::warning, .targets = {profile("unlisted: no\noperators: {Relu: yes}\n")}});
  EXPECT_EQ(report.gate.violations, 1);
  EXPECT_EQ(report.exit_code, exit_findings);
}

TEST(Targets, the_opset_that_helps) {
  const std::string acme = profile("operators: {Relu: {versions: 20}, Tanh: yes}\n");
  const Report report = checked(relu_tanh, 17, {acme});
  ASSERT_TRUE(engine_finding(report));
  EXPECT_EQ(engine_finding(report)->id, "CC102");
  EXPECT_EQ(engine_finding(report)->available_from, 20);
  EXPECT_THAT(engine_finding(report)->help, testing::StartsWith("--opset 20"));
  EXPECT_EQ(report.targets.front().lowest_opset, 20);
  const Report below = checked(relu_tanh, 26, {profile("operators: {Relu: {versions: 7-21}, Tanh: yes}\n")});
  EXPECT_THAT(engine_finding(below)->help, testing::StartsWith("--opset 21")) << "the nearest";
  EXPECT_EQ(engine_finding(below)->available_from, std::nullopt);
}

TEST(Targets, models_out_of_range_have_one_finding) {
  const Report report = checked(relu_tanh, 26, {"tensorrt"});
  EXPECT_EQ(report.targets.front().support, Support::no);
  EXPECT_EQ(report.targets.front().unsupported, 2);
  EXPECT_EQ(std::ranges::count_if(report.findings, [](const Finding& finding) { return finding.target.has_value(); }), 1);
  EXPECT_EQ(engine_finding(report)->id, "CC102");
  EXPECT_EQ(engine_finding(report)->nodes, 2);
  EXPECT_EQ(engine_finding(report)->message, "the engine supports models of opset 9 to 25, not of opset 26");
  EXPECT_EQ(engine_finding(report)->help, "--opset 25") << "the nearest";
}

TEST(Targets, doubles_on_onnx_runtime) {
  const Report report = checked(erf_of_doubles, 17, {"ort-cpu"});
  EXPECT_EQ(report.verdict, Verdict::yes);
}

TEST(Targets, other_than_onnx_is_unsupported) {
  const Report report = checked(relu_inverse, 17, {"ort-cpu"});
  EXPECT_EQ(report.verdict, Verdict::no);
  const auto& target = report.targets.front();
  EXPECT_EQ(target.support, Support::no);
  EXPECT_EQ(target.supported, 1);
  EXPECT_EQ(target.unsupported, 1);
  EXPECT_EQ(target.lowest_opset, std::nullopt);
  EXPECT_FALSE(engine_finding(report)) << "CC001 says it";
}

TEST(Targets, what_nobody_assessed_is_unknown) {
  const Report report = checked(inverse_relu, 17, {profile("operators: {Relu: yes}\n")});
  EXPECT_EQ(report.summary.unassessed, 1);
  const auto& target = report.targets.front();
  EXPECT_EQ(target.support, Support::no);
  EXPECT_EQ(target.unsupported, 1) << "the inverse";
  EXPECT_EQ(target.unknown, 1) << "relu of what nobody knows the dtype of";
}

TEST(Targets, findings_count_the_nodes_of_the_graph) {
  const Report report = checked(logaddexp_twice, 17, {profile("unlisted: no\noperators: {Relu: yes}\n")});
  int emitted = 0, found = 0;
  for (const auto& finding : report.findings) {
    if (!finding.target) continue;
    EXPECT_EQ(finding.op.empty() ? 0 : finding.nodes, static_cast<int>(finding.sites.size())) << finding.message;
    found += finding.nodes;
  }
  for (const auto& op : report.targets.front().operators) emitted += op.support == Support::no ? op.nodes : 0;
  EXPECT_EQ(emitted, report.targets.front().unsupported);
  EXPECT_GT(emitted, found) << "a call becomes several nodes of one operator";
}

TEST(Targets, opsets_beyond_the_ir_version_help_nobody) {
  const Report report = checked(relu_tanh, 17, {profile("ir: 7\noperators: {Relu: yes, Tanh: yes}\n")});
  ASSERT_TRUE(engine_finding(report));
  EXPECT_EQ(engine_finding(report)->id, "CC102");
  EXPECT_EQ(engine_finding(report)->help, "--opset 14") << "15 needs IR version 8";
  EXPECT_EQ(engine_finding(report)->available_from, std::nullopt);
}

// PyTorch refuses it, so it can't stay PyTorch's operator either.
TEST(Targets, calls_that_fit_nothing_leave_no_model_to_look_at) {
  const Report report = checked(R"(graph(%x : Float(4), %w : Float(4, 3, 3, 3), %b : Float(4)):
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::ListConstruct(%one, %one)
  %zero : int = prim::Constant[value=0]()
  %none : int[] = prim::ListConstruct(%zero, %zero)
  %y : Tensor = aten::conv2d(%x, %w, %b, %ones, %none, %ones, %one)
  return (%y)
)",
                                17, {"ort-cpu"});
  EXPECT_EQ(report.verdict, Verdict::no);
  EXPECT_NE(report.targets.front().support, Support::yes);
  ASSERT_TRUE(engine_finding(report));
  EXPECT_THAT(engine_finding(report)->message, HasSubstr("no ONNX model could be made to check: "));
}

TEST(Targets, names_that_nobody_ships) {
  EXPECT_THROW(checked(relu_tanh, 17, {"tensort"}), UsageError);
  EXPECT_THROW(checked(relu_tanh, 17, {"tensorrt@8"}), UsageError);
  EXPECT_THROW(checked(relu_tanh, 17, {profile("operators: 3\n")}), TableError);
}

}  // namespace
}  // namespace compatcheck
