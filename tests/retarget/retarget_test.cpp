#include "retarget/retarget.h"

#include <gtest/gtest.h>

#include "lint/in_force.h"
#include "onnx_file/onnx_text.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::ModelProto;

class RetargetTest : public testing::Test {
 protected:
  static const lint::InForce& tables() {
    static const lint::InForce in_force = lint::in_force({}, {});
    return in_force;
  }
  static Tables all() { return {tables().table, tables().schemas, tables().registry, tables().handlers}; }

  Retargeted at(int opset, const char* text) {
    model_ = onnx_file::read_text<ModelProto>(text);
    return retarget(model_, opset, all(), {});
  }
  static std::string ops(const ModelProto& model) {
    std::string text;
    for (const auto& node : model.graph().node()) text += (text.empty() ? "" : " ") + node.op_type();
    return text;
  }

  ModelProto model_;
};

TEST_F(RetargetTest, OwnOpsetChangesNothing) {
  const auto made = at(17, onnx_file::branches);
  EXPECT_TRUE(made.converts());
  EXPECT_EQ(made.model.SerializeAsString(), model_.SerializeAsString());
}

TEST_F(RetargetTest, NodesThatMeanTheSameStay) {
  const auto made = at(11, R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, bool c) => (float[2] y) <float[2] v = {1, 2}> {
  [abs] a = Abs(x)
  [if] y = If(c) <then_branch = t () => (float[2] q) { q = Add(a, v) }, else_branch = e () => (float[2] r) { r = Neg(a) }>
})");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(made.model.graph().SerializeAsString(), model_.graph().SerializeAsString());
  EXPECT_EQ(opset_of(made.model), 11);
  EXPECT_EQ(made.model.ir_version(), 6);
}

TEST_F(RetargetTest, InputsBecomeAttributes) {
  const auto made = at(11, R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x) => (float[3] y) <int64[1] axes = {-2}> { [sum] y = ReduceSum <keepdims = 0> (x, axes) })");
  ASSERT_TRUE(made.converts());
  const auto& node = made.model.graph().node(0);
  EXPECT_EQ(node.name(), "sum");
  EXPECT_EQ(node.input_size(), 1);
  ASSERT_EQ(node.attribute_size(), 2);
  EXPECT_EQ(node.attribute(0).ints(0), -2);
}

TEST_F(RetargetTest, AttributesBecomeInputs) {
  const auto made = at(18, R"(<ir_version: 6, opset_import: ["" : 11]>
g (float[2, 3] x) => (float[2] y, float[1, 3] z) { s = Unsqueeze <axes = [0]> (x) y = ReduceMean <axes = [1], keepdims = 0> (x) z, w = Split <axis = 0, split = [1, 1]> (x) })");
  ASSERT_TRUE(made.converts());
  for (const auto& node : made.model.graph().node()) EXPECT_EQ(node.input_size(), 2) << node.op_type();
  EXPECT_EQ(made.model.graph().initializer_size(), 3);
}

TEST_F(RetargetTest, NegativeAxesCountFromTheFrontBeforeOpset11) {
  const auto made = at(9, R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3, 4] x) => (float[2, 3, 8] y, float[2, 3, 4] z) { y = Concat <axis = -1> (x, x) z = Softmax (x) })");
  ASSERT_TRUE(made.converts());
  for (const auto& node : made.model.graph().node()) EXPECT_EQ(node.attribute(0).i(), 2) << node.op_type();
}

TEST_F(RetargetTest, HandlersWriteOperatorsThatTheOpsetLacks) {
  const auto made = at(13, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[n, 4] x, float[4] s) => (float[n, 4] z) { y = LayerNormalization (x, s) z = Gelu (y) })");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made.model).find("LayerNormalization"), std::string::npos);
  EXPECT_EQ(ops(made.model).find("Gelu"), std::string::npos);
  EXPECT_GT(made.outcomes[0].work, 1);
  EXPECT_EQ(made.model.graph().output(0).name(), "z");
}

TEST_F(RetargetTest, DefinitionsWriteTheOthers) {
  const auto made = at(13, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2, 4] x) => (float[2, 4] y) { y = ThresholdedRelu <alpha = 0.5> (x) })");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made.model), "ThresholdedRelu");
  const auto older = at(9, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[2, 4] x) => (float[2, 4] y) { y = ThresholdedRelu <alpha = 0.5> (x) })");
  ASSERT_TRUE(older.converts());
  EXPECT_EQ(ops(older.model).find("ThresholdedRelu"), std::string::npos);
}

TEST_F(RetargetTest, LocalFunctionsAreWrittenOut) {
  const auto made = at(11, R"(<ir_version: 9, opset_import: ["" : 20, "own" : 1]>
g (float[2, 4] x) => (float[2, 4] y) { [call] y = own.Twice <by = 2.0> (x) }
<domain: "own", opset_import: ["" : 20]>
Twice <by> (a) => (c) { b = Constant <value_float: float = @by> () c = Mul (a, b) })");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made.model), "Mul");
  EXPECT_EQ(made.model.functions_size(), 0);
}

TEST_F(RetargetTest, BodiesAreConvertedToo) {
  const auto made = at(11, R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x, bool c) => (float[3] y) <int64[1] axes = {0}> {
  y = If(c) <then_branch = t () => (float[3] q) { q = ReduceSum <keepdims = 0> (x, axes) },
             else_branch = e () => (float[3] r) { r = ReduceMean <axes = [0], keepdims = 0> (x) }>
})");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(made.model.graph().node(0).attribute(0).g().node(0).input_size(), 1);
  EXPECT_EQ(made.outcomes.size(), 3u);
}

TEST_F(RetargetTest, RefusesWithAReason) {
  const auto made = at(13, R"(<ir_version: 9, opset_import: ["" : 20]>
g (float[1, 1, 3, 3] x, float[1, 1, 2, 2] w, float[1, 8, 2, 2] o) => (float[1, 1, 2, 2] y) { y = DeformConv <kernel_shape = [2, 2]> (x, w, o) })");
  ASSERT_FALSE(made.converts());
  EXPECT_EQ(made.outcomes[0].reason, "ONNX has no DeformConv before opset 19");
  EXPECT_EQ(lowest_opset(model_, all(), {}), 19);
}

TEST_F(RetargetTest, RefusesOtherMeanings) {
  const char* const text = R"(<ir_version: 9, opset_import: ["" : 21]>
g (float[1, 1, N, 4] x) => (float[1, 1, M, 2] y) { y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]> (x) })";
  EXPECT_FALSE(at(22, text).converts());
  EXPECT_TRUE(at(13, text).converts());
}

TEST_F(RetargetTest, WidensDtypes) {
  const auto made = at(11, R"(<ir_version: 8, opset_import: ["" : 17]>
g (int64[2] x, int64[2] z) => (int64[2] y) { y = Max (x, z) })");
  ASSERT_TRUE(made.converts());
  EXPECT_EQ(ops(made.model), "Greater Where Identity");
}

}  // namespace
}  // namespace compatcheck::retarget
