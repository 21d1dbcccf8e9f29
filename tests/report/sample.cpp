#include "report/sample.h"

namespace compatcheck {

Finding sample_finding(const std::string& id, Severity severity, int sites) {
  Finding finding;
  finding.id = id;
  finding.severity = severity;
  finding.op = "aten::foo";
  finding.message = "a message";
  finding.nodes = sites;
  for (int i = 0; i < sites; ++i)
    finding.sites.push_back({static_cast<std::uint32_t>(i), "net.layer", "net.py", i + 1, "forward", "foo(x)"});
  return finding;
}

Report sample_report() {
  Report report;
  report.tool = {"compatcheck", "0.1.0", "2.13.0", "1.23.2"};
  report.model = {.path = "models/net.pt",
                  .identity = "abc",
                  .sha256 = "def",
                  .format = "torchscript",
                  .description = "TorchScript (traced)",
                  .bytes = 7,
                  .parameters = {3, 12},
                  .inputs = {{"x", "f32", std::vector<std::string>{"batch", "3", "?"}}},
                  .outputs = {{"y", "int[]", std::nullopt}},
                  .state = {},
                  .assumed = {},
                  .steps = {"a step"},
                  .warnings = {"a warning"}};
  report.opset = 11;
  report.export_type = ExportType::onnx_aten_fallback;
  report.verdict = Verdict::no;
  report.summary = {.nodes = 12,
                    .operators = 4,
                    .one_to_one = 1,
                    .one_to_many = 1,
                    .missing = 2,
                    .refused = 1,
                    .needs_input = 1,
                    .unassessed = 1,
                    .structural = 1,
                    .kept = 1,
                    .convertible = false,
                    .coverage_nodes = 1.0 / 3,
                    .coverage_operators = 0.25,
                    .lowest_opset = 16};
  report.operators = {
      {.op = "aten::foo",
       .overload = "Tensor",
       .operator_class = OperatorClass::missing,
       .verified = true,
       .onnx = {},
       .since = {},
       .available_from = 16,
       .nodes = 5,
       .blocked = 5,
       .kept = 1,
       .rows = {{"mine.yaml:3", "mine.yaml", 3, true, 5, "a refusal"}, {"theirs.yaml:4", "theirs.yaml", 4, false, 1, ""}},
       .emitted = {}},
      {.op = hostile_name,
       .overload = "",
       .operator_class = OperatorClass::missing,
       .verified = false,
       .onnx = {},
       .since = {},
       .available_from = {},
       .nodes = 1,
       .blocked = 1,
       .kept = 0,
       .rows = {},
       .emitted = {}},
      {.op = "aten::relu",
       .overload = "",
       .operator_class = OperatorClass::one_to_one,
       .verified = true,
       .onnx = {"Relu"},
       .since = 7,
       .available_from = {},
       .nodes = 4,
       .blocked = 0,
       .kept = 0,
       .rows = {},
       .emitted = {{"Relu", 4}}},
      {.op = "aten::softmax",
       .overload = "int",
       .operator_class = OperatorClass::one_to_many,
       .verified = true,
       .onnx = {"Exp", "Div"},
       .since = 7,
       .available_from = {},
       .nodes = 2,
       .blocked = 0,
       .kept = 0,
       .rows = {},
       .emitted = {{"Exp", 2}, {"Div", 2}}},
      {.op = "prim::Constant",
       .overload = "",
       .operator_class = OperatorClass::structural,
       .verified = true,
       .onnx = {},
       .since = {},
       .available_from = {},
       .nodes = 9,
       .blocked = 0,
       .kept = 0,
       .rows = {},
       .emitted = {}}};
  report.findings = {sample_finding("CC001", Severity::error, 3), sample_finding("CC005", Severity::error, 1),
                     sample_finding("CC101", Severity::warning, 2), sample_finding("CC004", Severity::note, 2),
                     sample_finding("CC006", Severity::error, 0)};
  report.findings[0].op = report.findings[0].sites[0].module = report.findings[0].sites[1].args = hostile_name;
  report.findings[0].row = "aten::foo: {7: {to: x::foo}}";
  report.findings[0].baseline = BaselineState::grown;
  report.findings[1].suppressed = {"known <since> 2020", "2030-01-01", "compatcheck.yaml:3"};
  report.findings[1].available_from = 16;
  report.findings[2].target = "tensorrt@10.15";
  report.findings[2].baseline = BaselineState::unchanged;
  report.findings[2].help = "advice";
  report.targets = {{.target = "tensorrt@10.15",
                     .engine = "tensorrt",
                     .version = "10.15",
                     .source = "its documentation",
                     .date = "2026-01-01",
                     .support = Support::no,
                     .nodes = 6,
                     .supported = 3,
                     .unsupported = 2,
                     .unknown = 1,
                     .partitions = 2,
                     .lowest_opset = {},
                     .operators = {{"Div", Support::yes, 2}, {"Exp", Support::unknown, 2}},
                     .older_forms = {{.op = "aten::gelu",
                                      .overload = "",
                                      .opset = 19,
                                      .calls = 2,
                                      .more_nodes = 8,
                                      .newer = {"Gelu"},
                                      .older = {"Div", "Erf"},
                                      .limit = "the engine doesn't support Gelu"}},
                     .best_opset = 13},
                    {.target = "tvm@0.20",
                     .engine = "tvm",
                     .version = "0.20",
                     .source = "",
                     .date = "",
                     .support = Support::yes,
                     .nodes = 6,
                     .supported = 6,
                     .unsupported = 0,
                     .unknown = 0,
                     .partitions = 1,
                     .lowest_opset = 9,
                     .operators = {}}};
  report.targets_lowest_opset = 18;
  report.graph =
      GraphSummary{.operators = {"aten::foo", "aten::relu"},
                   .modules = {"", "net"},
                   .types = {"?", "f32[2]"},
                   .calls = {"foo(x)", "relu(y)"},
                   .emissions = {"", "Relu"},
                   .nodes = {{0, 1, GraphSummary::Outcome::missing, {}},
                             {.op = 1, .outcome = GraphSummary::Outcome::ok, .inputs = {0}, .type = 1, .call = 1, .onnx = 1}}};
  report.gate = {.passed = false, .fail_on = FailOn::conditional, .violations = 2, .max_missing = 1, .one_opset_is_enough = true};
  report.exit_code = exit_findings;
  return report;
}

}  // namespace compatcheck
