#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "models.h"

namespace compatcheck::frontend::torchscript {
namespace {

using Kind = ir::LoadNote::Kind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(Stubs, PositionsKeywordsAndTypesComeFromTheCalls) {
  EXPECT_THAT(read("custom_keywords-scripted").stub_schemas,
              UnorderedElementsAre("my_lib::my_add(Tensor arg0, Tensor arg1) -> Tensor",
                                   "my_lib::scale(Tensor arg0, *, int[] axes, float factor, str? mode=None) -> Tensor"));
}

TEST(Stubs, SeveralResultsAndLists) {
  EXPECT_THAT(read("custom_tuple-scripted").stub_schemas, ElementsAre("my_lib::pair(Tensor arg0, int arg1) -> (Tensor, Tensor)"));
  EXPECT_THAT(read("custom_list-scripted").stub_schemas, ElementsAre("my_lib::pieces(Tensor arg0, int[] arg1) -> Tensor[]"));
}

TEST(Stubs, ATrailingUnderscoreWrites) {
  const ir::Program program = read("custom_several-scripted");
  EXPECT_THAT(program.stub_schemas, Contains("my_lib::inplace_(Tensor(a!) arg0, float arg1) -> Tensor(a!)"));
  EXPECT_EQ(notes(program, Kind::stub_operator).size(), 3u);
}

TEST(Stubs, WhatIsAssumedIsReported) {
  const ir::Program program = read("my_add-traced");
  const auto assumed = notes(program, Kind::stub_operator);
  ASSERT_EQ(assumed.size(), 1u);
  EXPECT_EQ(assumed[0]->subject, "my_lib::my_add");
  EXPECT_THAT(assumed[0]->message, HasSubstr("my_lib::my_add(Tensor arg0, Tensor arg1) -> Tensor"));
}

TEST(Stubs, TorchvisionsSchemasAreKnown) {
  const ir::Program program = read("detector-scripted");
  EXPECT_TRUE(notes(program, Kind::stub_operator).empty());
  EXPECT_THAT(program.stub_schemas, Contains("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"));
  EXPECT_EQ(nodes(program, "torchvision::nms").size(), 2u);
}

TEST(Stubs, UsersSchemasGoFirstAndAreForgottenAfterwards) {
  const std::string schema = "my_lib::my_add(Tensor a, Tensor b, float scale=2.) -> Tensor";
  const ir::Program stated = read_program(model("my_add-scripted"), {schema});
  EXPECT_THAT(stated.stub_schemas, ElementsAre(schema));
  EXPECT_TRUE(notes(stated, Kind::stub_operator).empty());
  EXPECT_EQ(nodes(stated, "my_lib::my_add").at(0)->inputs().size(), 3u);
  EXPECT_EQ(nodes(read("my_add-scripted"), "my_lib::my_add").at(0)->inputs().size(), 2u);
}

TEST(Stubs, ASchemaThatDoesntParseIsTheUsersMistake) {
  EXPECT_THROW(read_program(model("my_add-scripted"), {"my_lib::my_add(Tensor a"}), UsageError);
}

TEST(Stubs, UnknownClassesAreOpaque) {
  for (const char* name : {"custom_class-traced", "custom_class_method-traced"}) {
    const ir::Program program = read(name);
    const auto opaque = notes(program, Kind::opaque_class);
    ASSERT_EQ(opaque.size(), 1u) << name;
    EXPECT_EQ(opaque[0]->subject, "__torch__.torch.classes.my_matrix.LinearPackedParamsBase");
    EXPECT_TRUE(program.classes.at(opaque[0]->subject).methods.empty());
    const auto holders = objects_of(program, ".LinearPackedParams");
    ASSERT_FALSE(holders.empty());
    EXPECT_TRUE(attribute(program, *holders[0], "_packed_params")->get<ir::OpaqueConstant>());
  }
}

TEST(Stubs, MethodsOfUnknownClassesStayCalls) {
  const ir::Program program = read("custom_class_method-traced");
  std::size_t calls = 0;
  for (const ir::Node* node : nodes(program, "prim::CallMethod"))
    calls += *node->attribute("name")->get<std::string>() == "linear_dynamic";
  EXPECT_EQ(calls, 2u);
}

}  // namespace
}  // namespace compatcheck::frontend::torchscript
