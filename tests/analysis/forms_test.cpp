// --target: calls in the forms that engines take.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"

namespace compatcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Model load_text(std::string_view text, std::vector<std::filesystem::path> mappings = {}) {
  LoadOptions options;
  options.mappings = std::move(mappings);
  return Loader(options).load(std::as_bytes(std::span(text)), "graph.ir");
}

std::string file_of(const std::string& text) {
  static int number = 0;
  const auto file = std::filesystem::path(testing::TempDir()) / ("forms_" + std::to_string(number++) + ".yaml");
  std::ofstream(file) << text;
  return file.string();
}

// A profile in which only these operators are supported.
std::string takes(const std::string& operators, const std::string& engine = "acme") {
  return file_of("engine: " + engine + "\nversion: \"1\"\nunlisted: no\noperators: {" + operators + "}\n");
}

std::vector<std::string> written(const Model& model, int opset, std::vector<std::string> targets) {
  std::string bytes;
  const auto append = [&](std::span<const std::byte> part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  };
  EXPECT_TRUE(convert(model, append, {.opset = opset, .targets = std::move(targets)}).written);
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(bytes));
  EXPECT_EQ(proto.opset_import(0).version(), opset);
  std::vector<std::string> operators;
  for (const auto& node : proto.graph().node()) operators.push_back(node.op_type());
  return operators;
}

std::vector<const Finding*> found(const Report& report, std::string_view rule) {
  std::vector<const Finding*> all;
  for (const Finding& finding : report.findings)
    if (finding.id == rule) all.push_back(&finding);
  return all;
}

constexpr const char* gelu_twice = R"(graph(%x : Float(2, 3)):
  %none : str = prim::Constant[value="none"]()
  %a : Float(2, 3) = aten::gelu(%x, %none), scope: __module.first
  %b : Float(2, 3) = aten::gelu(%a, %none), scope: __module.second
  return (%b)
)";
constexpr const char* nodes_of_gelu = "Div: yes, Erf: yes, Add: yes, Mul: yes";

TEST(Forms, the_newest_that_the_engine_takes) {
  const Model model = load_text(gelu_twice);
  EXPECT_THAT(written(model, 20, {}), ElementsAre("Gelu", "Gelu"));
  EXPECT_THAT(written(model, 20, {takes("Gelu: yes, " + std::string(nodes_of_gelu))}), ElementsAre("Gelu", "Gelu"));
  EXPECT_THAT(written(model, 20, {takes(nodes_of_gelu)}),
              ElementsAre("Div", "Erf", "Add", "Mul", "Mul", "Div", "Erf", "Add", "Mul", "Mul"));
}

TEST(Forms, are_reported) {
  const Report report = check(load_text(gelu_twice), {.opset = 20, .targets = {takes(nodes_of_gelu)}});
  const TargetSummary& target = report.targets.front();
  EXPECT_EQ(target.support, Support::yes);
  EXPECT_EQ(target.nodes, 10);
  EXPECT_EQ(target.lowest_opset, 9);
  EXPECT_EQ(target.best_opset, 20) << "the one that was asked for";
  ASSERT_EQ(target.older_forms.size(), 1U);
  const auto& form = target.older_forms.front();
  EXPECT_EQ(form.op, "aten::gelu");
  EXPECT_EQ(form.opset, 19);
  EXPECT_EQ(form.calls, 2);
  EXPECT_EQ(form.more_nodes, 8);
  EXPECT_THAT(form.newer, ElementsAre("Gelu"));
  EXPECT_THAT(form.older, ElementsAre("Div", "Erf", "Add", "Mul"));
  EXPECT_EQ(form.limit, "the engine doesn't support Gelu");
  const auto notes = found(report, "CC106");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front()->severity, Severity::note);
  EXPECT_EQ(notes.front()->nodes, 2);
  EXPECT_EQ(notes.front()->sites.size(), 2U);
  EXPECT_EQ(
      notes.front()->message,
      "written as Div, Erf, Add, Mul (5 nodes), the form of opset 19, instead of Gelu (1 node): the engine doesn't support Gelu");
  EXPECT_EQ(report.operators.front().onnx, (std::vector<std::string>{"Div", "Erf", "Add", "Mul"}))
      << "the class is that of the form";
  EXPECT_EQ(report.operators.front().operator_class, OperatorClass::one_to_many);
}

TEST(Forms, a_check_without_targets_has_none) {
  const Report report = check(load_text(gelu_twice), {.opset = 20});
  EXPECT_EQ(report.operators.front().onnx, (std::vector<std::string>{"Gelu"}));
  EXPECT_THAT(found(report, "CC106"), IsEmpty());
}

// The fewest unsupported nodes; of equals the newer.
TEST(Forms, where_none_is_taken_whole) {
  EXPECT_THAT(written(load_text(gelu_twice), 20, {takes("Relu: yes")}), ElementsAre("Gelu", "Gelu"));
  const Report report = check(load_text(gelu_twice), {.opset = 20, .targets = {takes("Div: yes, Add: yes, Mul: yes")}});
  EXPECT_THAT(report.targets.front().older_forms, IsEmpty()) << "one node either way";
  EXPECT_EQ(report.targets.front().unsupported, 2);
  ASSERT_EQ(found(report, "CC101").size(), 1U);
  EXPECT_EQ(found(report, "CC101").front()->message, "the engine doesn't support Gelu");
}

TEST(Forms, unknown_support_costs_less_than_none) {
  const std::string silent = file_of("engine: acme\nversion: \"1\"\noperators: {Gelu: no}\n");
  EXPECT_THAT(written(load_text(gelu_twice), 20, {silent}), testing::Contains("Erf"));
}

TEST(Forms, one_file_for_several_engines) {
  const std::string first = takes("Gelu: yes, " + std::string(nodes_of_gelu), "first"), second = takes(nodes_of_gelu, "second");
  const Report report = check(load_text(gelu_twice), {.opset = 20, .targets = {first, second}});
  for (const TargetSummary& target : report.targets) EXPECT_EQ(target.support, Support::yes) << target.target;
  EXPECT_THAT(report.targets[0].older_forms, IsEmpty()) << "the other engine's wish";
  EXPECT_EQ(report.targets[1].older_forms.size(), 1U);
  EXPECT_THAT(found(report, "CC107"), IsEmpty());
}

TEST(Forms, engines_that_exclude_each_other) {
  const std::string first = takes("Gelu: yes", "first"), second = takes(nodes_of_gelu, "second");
  const Report report = check(load_text(gelu_twice), {.opset = 20, .targets = {first, second}});
  const auto conflicts = found(report, "CC107");
  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_EQ(conflicts.front()->op, "aten::gelu");
  EXPECT_EQ(conflicts.front()->target, "first@1");
  EXPECT_EQ(conflicts.front()->nodes, 2);
  EXPECT_EQ(conflicts.front()->message, "no form of this call suits second@1 too");
  EXPECT_EQ(conflicts.front()->severity, Severity::warning);
}

TEST(Forms, the_opset_of_most_support) {
  const Report report = check(load_text(R"(graph(%x : Float(2, 3)):
  %none : str = prim::Constant[value="none"]()
  %a : Float(2, 3) = aten::gelu(%x, %none)
  %b : Float(2, 3) = aten::tan(%a)
  return (%b)
)"),
                              {.opset = 17, .targets = {takes("Gelu: yes")}});
  EXPECT_EQ(report.targets.front().lowest_opset, std::nullopt);
  EXPECT_EQ(report.targets.front().unsupported, 6);
  EXPECT_EQ(report.targets.front().best_opset, 26);
}

// A user's row is a form like any other: where the engine doesn't take it, the shipped form below it is tried.
TEST(Forms, of_users_rows) {
  const std::string rows = file_of("aten::gelu:\n  17:\n    to: acme::Gelu\n    inputs: [self]\n");
  const Model model = load_text(gelu_twice, {rows});
  EXPECT_THAT(written(model, 17, {}), ElementsAre("Gelu", "Gelu"));
  EXPECT_THAT(written(model, 17, {takes(nodes_of_gelu)}), testing::Not(testing::Contains("Gelu")));
  EXPECT_THAT(written(model, 17, {takes("acme::Gelu: yes")}), ElementsAre("Gelu", "Gelu"));
}

TEST(Forms, of_calls_in_bodies) {
  const Report report = check(load_text(R"(graph(%x : Float(2, 3), %c : bool):
  %none : str = prim::Constant[value="none"]()
  %y : Float(2, 3) = prim::If(%c)
    block0():
      %a : Float(2, 3) = aten::gelu(%x, %none)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
)"),
                              {.opset = 20, .targets = {takes(std::string(nodes_of_gelu) + ", If: yes, Identity: yes")}});
  EXPECT_EQ(report.targets.front().support, Support::yes);
}

TEST(Forms, of_a_model_that_does_not_convert) {
  const Report report = check(load_text(R"(graph(%x : Float(2, 3)):
  %none : str = prim::Constant[value="none"]()
  %a : Float(2, 3) = aten::gelu(%x, %none)
  %b : Float(2, 3) = acme::other(%a)
  return (%b)
)"),
                              {.opset = 20, .targets = {takes(nodes_of_gelu)}});
  EXPECT_EQ(report.verdict, Verdict::no);
  EXPECT_THAT(found(report, "CC106"), IsEmpty());
}

}  // namespace
}  // namespace compatcheck
