#include "onnx_file/scopes.h"

#include <gmock/gmock.h>

#include "onnx_file/onnx_text.h"
#include "onnx_file/validity.h"

namespace compatcheck::onnx_file {
namespace {

::onnx::ModelProto model_of(const char* text) { return onnx_file::read_text<::onnx::ModelProto>(text); }

TEST(Scopes, ANameIsItsBodys) {
  const auto model = model_of(onnx_file::branches);
  const Scopes scopes(model.graph());
  ASSERT_EQ(scopes.all().size(), 3u);
  const Scope &then_branch = scopes.all()[1], &else_branch = scopes.all()[2];
  EXPECT_EQ(Scopes::find(then_branch, "p")->node->op_type(), "Add");
  EXPECT_EQ(Scopes::find(else_branch, "p")->node->op_type(), "Reshape");
  EXPECT_EQ(Scopes::find(then_branch, "w")->initializer->data_type(), ::onnx::TensorProto::FLOAT);
  EXPECT_EQ(Scopes::find(else_branch, "w")->initializer->data_type(), ::onnx::TensorProto::INT64);
  EXPECT_EQ(Scopes::find(else_branch, "a")->scope, &scopes.all()[0]);
  EXPECT_EQ(Scopes::find(scopes.all()[0], "p"), nullptr);
}

TEST(Scopes, ByItselfANameOfSeveralBodiesIsNone) {
  const auto model = model_of(onnx_file::branches);
  const Scopes scopes(model.graph());
  EXPECT_EQ(scopes.find("p"), nullptr);
  EXPECT_TRUE(scopes.is_used("p"));
  EXPECT_EQ(scopes.find("q")->node->op_type(), "Neg");
  EXPECT_TRUE(scopes.find("v")->is_initializer());
  EXPECT_TRUE(scopes.find("x")->is_given());
}

TEST(ValueTypes, AreOfTheGraphThatGivesTheValue) {
  const auto model = model_of(onnx_file::branches);
  ValueTypes types(model);
  const auto& bodies = model.graph().node(1).attribute();
  EXPECT_EQ(types.find(bodies[0].g(), "p")->tensor_type().shape().dim(0).dim_value(), 2);
  EXPECT_EQ(types.find(bodies[1].g(), "w")->tensor_type().elem_type(), ::onnx::TensorProto::INT64);
  EXPECT_EQ(types.find(bodies[1].g(), "r")->tensor_type().elem_type(), ::onnx::TensorProto::FLOAT);
  EXPECT_EQ(types.find(model.graph(), "p"), nullptr);
}

}  // namespace
}  // namespace compatcheck::onnx_file
