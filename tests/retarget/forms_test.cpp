// Nodes in the forms that engines take.
#include <gtest/gtest.h>

#include <algorithm>

#include "engines/look.h"
#include "engines/targets.h"
#include "lint/in_force.h"
#include "onnx_file/onnx_text.h"
#include "onnx_file/validity.h"
#include "retarget/retarget.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::ModelProto;

class FormsTest : public testing::Test {
 protected:
  static const lint::InForce& tables() {
    static const lint::InForce in_force = lint::in_force({}, {});
    return in_force;
  }

  // An engine that supports these operators only.
  static engines::Profile takes(const std::string& operators) {
    const std::string text = "engine: acme\nversion: \"1\"\nunlisted: no\noperators: {" + operators + "}\n";
    return engines::read_own_profile({text, "acme.yaml"});
  }

  Retargeted at(int opset, const char* text, const std::vector<engines::Profile>& profiles) {
    model_ = onnx_file::read_text<ModelProto>(text);
    return again(model_, opset, profiles);
  }
  static Retargeted again(const ModelProto& model, int opset, const std::vector<engines::Profile>& profiles) {
    const auto judge = [&](const ModelProto& form) {
      std::vector<Fit> fits;
      for (const auto& profile : profiles) {
        Fit& fit = fits.emplace_back();
        for (const auto& one : engines::look_at(onnx_file::with_types(form), profile, tables().table.onnx_changes()).nodes)
          if (one.verdict.support != Support::yes) ++fit.unsupported, fit.limit = fit.limit.value_or(one.verdict.message);
      }
      return fits;
    };
    return retarget(model, opset, {tables().table, tables().schemas, tables().registry, tables().handlers}, {}, judge);
  }
  static std::string ops(const ::onnx::GraphProto& graph) {
    std::string text;
    for (const auto& node : graph.node()) text += (text.empty() ? "" : " ") + node.op_type();
    return text;
  }
  static std::string ops(const Retargeted& made) { return ops(made.model.graph()); }
  static std::string form(const NodeOutcome& outcome) {
    return outcome.forms.empty() ? "none tried" : outcome.forms[outcome.form].text;
  }

  ModelProto model_;
};

constexpr const char* swish = R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2, 4] x) => (float[2, 4] z) { [abs] y = Abs(x) [swish] z = HardSwish (y) })";

TEST_F(FormsTest, WhatTheEngineTakesStays) {
  const auto made = at(20, swish, {takes("Abs: yes, HardSwish: yes")});
  EXPECT_EQ(made.model.SerializeAsString(), model_.SerializeAsString());
  EXPECT_TRUE(made.outcomes[1].forms.empty());
}

TEST_F(FormsTest, WithoutAFormThatSuitsNothingChanges) {
  const auto made = at(20, swish, {takes("Abs: yes")});
  EXPECT_EQ(made.model.SerializeAsString(), model_.SerializeAsString());
  EXPECT_EQ(made.outcomes[1].form, 0u);
  EXPECT_EQ(made.outcomes[1].forms[0].fits[0].limit, "the engine doesn't support HardSwish");
}

TEST_F(FormsTest, OlderFormsOfPytorchsCall) {
  const auto made = at(20, swish, {takes("Abs: yes, HardSigmoid: yes, Mul: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made), "Abs HardSigmoid Mul");
  EXPECT_EQ(made.model.graph().node(0).SerializeAsString(), model_.graph().node(0).SerializeAsString());
  EXPECT_EQ(made.model.graph().output(0).name(), "z");
  EXPECT_EQ(form(made.outcomes[1]), "the form of opset 13");
  EXPECT_EQ(made.outcomes[1].forms[0].operators, std::vector<std::string>{"HardSwish"});
  EXPECT_FALSE(made.outcomes[1].kept);
  EXPECT_TRUE(made.outcomes[0].kept);
}

TEST_F(FormsTest, OnnxsOwnDefinition) {
  const auto made = at(26, R"(<ir_version: 9, opset_import: ["" : 26]>
g (float[2, 4] x) => (float[2, 4] y) { y = ThresholdedRelu <alpha = 0.5> (x) })",
                       {takes("Constant: yes, Less: yes, Where: yes, CastLike: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made).find("ThresholdedRelu"), std::string::npos);
  EXPECT_EQ(form(made.outcomes[0]), "ONNX's definition of opset 18");
}

TEST_F(FormsTest, FewestUnsupportedNodes) {
  const char* const gelu = R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2, 4] x) => (float[2, 4] y) { y = Gelu (x) })";
  EXPECT_EQ(ops(at(17, gelu, {takes("Erf: yes")})), ops(at(17, gelu, {takes("Erf: yes, Mul: yes")})));
  EXPECT_EQ(ops(at(20, gelu, {takes("Mul: yes, Div: yes, Add: yes")})), "Gelu");  // Erf isn't supported either
}

TEST_F(FormsTest, NodesOfBodies) {
  const auto made = at(20, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2] x, bool c) => (float[2] y) {
  y = If(c) <then_branch = t () => (float[2] q) { q = HardSwish(x) }, else_branch = e () => (float[2] r) { r = Abs(x) }>
})",
                       {takes("If: yes, Abs: yes, HardSigmoid: yes, Mul: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made.model.graph().node(0).attribute(0).g()), "HardSigmoid Mul");
  EXPECT_TRUE(made.outcomes[0].forms.empty());
  EXPECT_EQ(form(made.outcomes[1]), "the form of opset 13");
}

TEST_F(FormsTest, FunctionsOfTheFile) {
  const char* const text = R"(<ir_version: 9, opset_import: ["" : 20, "own" : 1]>
g (float[2, 4] x) => (float[2, 4] y) { [call] y = own.Twice <by = 2.0> (x) }
<domain: "own", opset_import: ["" : 20]>
Twice <by> (a) => (d) { b = Constant <value_float: float = @by> () c = Mul (a, b) d = HardSwish (c) })";
  const auto kept = at(20, text, {takes("Mul: yes, Constant: yes, HardSwish: yes")});
  EXPECT_EQ(kept.model.SerializeAsString(), model_.SerializeAsString());
  const auto made = at(20, text, {takes("Constant: yes, Mul: yes, HardSigmoid: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made), "Constant Mul HardSigmoid Mul");
  EXPECT_EQ(made.model.functions_size(), 0);
  EXPECT_EQ(form(made.outcomes[0]), "the nodes of its function");
}

TEST_F(FormsTest, AtAnotherOpsetToo) {
  const auto made = at(17, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2, 4] x, float[4] s) => (float[2, 4] z) { [norm] y = LayerNormalization (x, s) [gelu] z = Gelu (y) })",
                       {takes("Erf: yes, Add: yes, Mul: yes, Div: yes, Sub: yes, ReduceMean: yes, Sqrt: yes, Pow: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made).find("LayerNormalization"), std::string::npos);
  EXPECT_EQ(form(made.outcomes[0]), "the form of opset 16");
  EXPECT_TRUE(made.outcomes[1].forms.empty());  // the usual form suits
  EXPECT_EQ(
      again(made.model, 17, {takes("Erf: yes, Add: yes, Mul: yes, Div: yes, Sub: yes, ReduceMean: yes, Sqrt: yes, Pow: yes")})
          .model.SerializeAsString(),
      made.model.SerializeAsString());
}

TEST_F(FormsTest, NamesAreThoseOfTheFormAlone) {
  const auto made = at(20, swish, {takes("Abs: yes, HardSigmoid: yes, Mul: yes")});
  for (const auto& node : made.model.graph().node()) EXPECT_EQ(node.name().find("_1"), std::string::npos) << node.name();
}

TEST_F(FormsTest, TwoEngines) {
  const auto made = at(20, swish, {takes("Abs: yes, HardSwish: yes"), takes("Abs: yes, HardSigmoid: yes, Mul: yes")});
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(made.outcomes[1].form, 0u);  // one unsupported node instead of two
  EXPECT_GT(made.outcomes[1].forms.size(), 1u);
}

}  // namespace
}  // namespace compatcheck::retarget
