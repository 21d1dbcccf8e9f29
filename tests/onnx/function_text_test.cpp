#include "onnx/function_text.h"

#include <gtest/gtest.h>

namespace compatcheck::onnx {
namespace {

constexpr const char* two =
    "<domain: \"acme-ops\", opset_import: [\"\" : 15]>\n"
    "Half <a> (x) => (y) {   # Relu is no operator here\n"
    "  c = Constant <value_float: float = @a> ()\n"
    "  y = Mul (x, c)\n"
    "}\n"
    "<domain: \"acme-ops\", opset_import: [\"\" : 15]>\n"
    "Both <a, b: int = 3> (x) => (y) {\n"
    "  h = Half <a: float = @a> (x)\n"
    "  y = If (h) <then_branch = t () => (r) { r = Relu (h) }, else_branch = e () => (r) { r = Half <a = 0.5> (x) }>\n"
    "}\n";

std::string fault_in(const std::string& text) {
  try {
    const FunctionText made(text);
    return "reads";
  } catch (const TextFault& fault) {
    return std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " + fault.message;
  }
}

TEST(FunctionText, LastIsWhatIsCalled) {
  const FunctionText text(two);
  ASSERT_EQ(text.functions().size(), 2u);
  EXPECT_EQ(text.name(), "acme-ops::Both");
  EXPECT_EQ(text.operators(), (std::vector<std::string>{"Constant", "Mul", "If", "Relu"}));
  EXPECT_EQ(FunctionText::opset(text.called()), 15);
}

TEST(FunctionText, NamesWithoutDomainAreTheTextsOwn) {
  const FunctionText text(two);
  EXPECT_EQ(text.called().node(0).domain(), "acme-ops");
  EXPECT_EQ(text.called().node(1).attribute(1).g().node(0).domain(), "acme-ops");
  const FunctionText shadow("<domain: \"acme\"> Relu (x) => (y) { y = Relu (x) }");
  EXPECT_EQ(shadow.called().node(0).domain(), "");
}

TEST(FunctionText, AttributesHaveTheTypeOfTheirUse) {
  const FunctionText text(two);
  const auto attributes = text.attributes(text.called());
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].type, AttributeType::floating);
  EXPECT_EQ(attributes[0].default_value, nullptr);
  EXPECT_EQ(attributes[1].type, AttributeType::integer);
  EXPECT_EQ(attributes[1].default_value->i(), 3);
}

TEST(FunctionText, PlacesOfNodes) {
  const FunctionText text(two);
  const auto place = [&](const ::onnx::NodeProto& node) {
    const TextFault at = text.at(node, "");
    return std::to_string(at.line) + ":" + std::to_string(at.column);
  };
  EXPECT_EQ(place(text.functions()[0].node(1)), "4:7");
  EXPECT_EQ(place(text.called().node(0)), "8:7");
  EXPECT_EQ(place(text.called().node(1).attribute(0).g().node(0)), "9:47");
  EXPECT_EQ(place(text.called().node(1).attribute(1).g().node(0)), "9:91");
}

TEST(FunctionText, Faults) {
  EXPECT_EQ(fault_in(""),
            "1:1: expected a function in ONNX's text notation: <domain: \"acme\", opset_import: [\"\" : 17]> Twice (X) => (Y) { "
            "Y = Add (X, X) }");
  EXPECT_EQ(fault_in("F (x) => (y) {\n  y = Relu x\n}").substr(0, 4), "2:12");
  EXPECT_NE(fault_in("F (x) => (y) { y = Cast <to = 99999999999999999999999> (x) }"), "reads");
  EXPECT_NE(fault_in(std::string(400, '{')), "reads");
}

}  // namespace
}  // namespace compatcheck::onnx
