// What tensors are asked for besides their sizes.
#include <gtest/gtest.h>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

const std::map<std::string, std::string> floats = {{"x", "f32[2,batch]"}}, bytes = {{"x", "u8[2,batch]"}},
                                         open = {{"x", "anything"}};

std::string property(const std::string& call, const std::map<std::string, std::string>& inputs) {
  return state(inputs, "  %y : " + call + "\n  return (%y)").output();
}

TEST(Properties, OfADtype) {
  EXPECT_EQ(property("int = prim::dtype(%x)", floats), "int 6");
  EXPECT_EQ(property("int = prim::dtype(%x)", open), "int");
  EXPECT_EQ(property("bool = aten::is_floating_point(%x)", floats), "True");
  EXPECT_EQ(property("bool = aten::is_floating_point(%x)", bytes), "False");
  EXPECT_EQ(property("bool = aten::is_floating_point(%x)", open), "bool");
  EXPECT_EQ(property("bool = aten::is_signed(%x)", bytes), "False");
  EXPECT_EQ(property("int = aten::element_size(%x)", floats), "int 4");
  EXPECT_EQ(property("int = aten::result_type(%x, %x)", floats), "int 6");
}

TEST(Properties, OfEveryTensorOfOnnx) {
  EXPECT_EQ(property("bool = aten::is_contiguous(%x)", open), "True");
  EXPECT_EQ(property("bool = prim::requires_grad(%x)", open), "False");
  EXPECT_EQ(property("int = aten::get_device(%x)", open), "int -1");
}

TEST(Properties, Sizes) {
  const auto same = [](const std::string& a, const std::string& b) {
    return state({{"x", a}, {"z", b}}, "  %y : bool = aten::is_same_size(%x, %z)\n  return (%y)").output();
  };
  EXPECT_EQ(same("f32[2,batch]", "f32[2,batch]"), "True");
  EXPECT_EQ(same("f32[2,batch]", "f32[2,batch,1]"), "False");
  EXPECT_EQ(same("f32[2,batch]", "f32[3,batch]"), "False");
  EXPECT_EQ(same("f32[2,batch]", "f32[2,time]"), "bool");
}

TEST(Properties, Instances) {
  EXPECT_EQ(property("bool = prim::isinstance[types=[Tensor]](%x)", open), "True");
  EXPECT_EQ(property("bool = prim::isinstance[types=[List[Tensor], int]](%x)", open), "False");
  EXPECT_EQ(property("bool = prim::isinstance[types=[__torch__.Net]](%x)", open), "bool");
}

}  // namespace
}  // namespace compatcheck::symbolic
