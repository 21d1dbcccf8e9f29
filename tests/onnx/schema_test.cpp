// The static schemas against the linked onnx's own registry.
#include "onnx/schema.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <set>

namespace compatcheck::onnx {
namespace {

TEST(OnnxSchemas, AreThoseOfTheLinkedLibrary) {
  const auto registered = ::onnx::OpSchemaRegistry::get_all_schemas_with_history();
  ASSERT_EQ(all_schemas().size(), registered.size());
  for (const ::onnx::OpSchema& theirs : registered) {
    const Schema* ours = nullptr;
    for (const Schema& schema : versions(theirs.Name(), theirs.domain()))
      if (schema.since == theirs.SinceVersion()) ours = &schema;
    ASSERT_TRUE(ours) << theirs.Name() << " " << theirs.SinceVersion();
    EXPECT_EQ(ours->deprecated, theirs.Deprecated()) << theirs.Name();
    EXPECT_EQ(ours->min_inputs, theirs.min_input()) << theirs.Name();
    EXPECT_EQ(ours->max_inputs, theirs.max_input()) << theirs.Name();
    EXPECT_EQ(ours->max_outputs, theirs.max_output()) << theirs.Name();
    EXPECT_EQ(ours->attributes.size(), theirs.attributes().size()) << theirs.Name();
    for (const auto& [name, attribute] : theirs.attributes()) {
      const Attribute* found = ours->attribute(name);
      ASSERT_TRUE(found) << theirs.Name() << " " << name;
      EXPECT_EQ(static_cast<int>(found->type), static_cast<int>(attribute.type)) << theirs.Name() << " " << name;
      EXPECT_EQ(found->required, attribute.required);
    }
    ASSERT_EQ(ours->inputs.size(), theirs.inputs().size());
    for (std::size_t i = 0; i < ours->inputs.size(); ++i) {
      EXPECT_EQ(ours->inputs[i].name, theirs.inputs()[i].GetName());
      EXPECT_EQ(ours->inputs[i].types.size(), theirs.inputs()[i].GetTypes().size());
    }
  }
}

TEST(OnnxSchemas, TheVersionInForceAtAnOpset) {
  EXPECT_EQ(find("Relu", 7)->since, 6);
  EXPECT_EQ(find("Relu", 13)->since, 13);
  EXPECT_EQ(find("Relu", 26)->since, 14);
  EXPECT_EQ(find("Gelu", 19), nullptr);
  EXPECT_EQ(find("Gelu", 20)->since, 20);
  EXPECT_EQ(find("Gelu", 20, "ai.onnx")->since, 20);
  EXPECT_EQ(find("Gelu", 20, "com.acme"), nullptr);
  EXPECT_FALSE(find("Upsample", 9)->deprecated);
  EXPECT_TRUE(find("Upsample", 10)->deprecated);
  EXPECT_EQ(versions("Clip").size(), 5u);
}

TEST(OnnxSchemas, AttributesAndInputs) {
  const Schema& gelu = *find("Gelu", 20);
  ASSERT_TRUE(gelu.attribute("approximate"));
  EXPECT_EQ(gelu.attribute("approximate")->type, AttributeType::string);
  EXPECT_EQ(gelu.attribute("approximate")->default_value, "\"none\"");
  EXPECT_FALSE(gelu.attribute("approximate")->required);
  EXPECT_EQ(gelu.attribute("alpha"), nullptr);
  EXPECT_TRUE(find("Cast", 9)->attribute("to")->required);
  EXPECT_EQ(find("HardSigmoid", 7)->attribute("alpha")->default_value, "0.2");
  EXPECT_EQ(find("Concat", 13)->max_inputs, any_number);
  EXPECT_EQ(find("Clip", 11)->input_index("max"), 2u);
  EXPECT_EQ(find("Clip", 7)->input_index("max"), std::nullopt);
}

TEST(OnnxSchemas, Types) {
  const Schema& relu = *find("Relu", 7);
  EXPECT_TRUE(relu.inputs[0].accepts(ir::DType::f32));
  EXPECT_FALSE(relu.inputs[0].accepts(ir::DType::bf16));
  EXPECT_TRUE(find("Relu", 13)->inputs[0].accepts(ir::DType::bf16));
  EXPECT_FALSE(relu.inputs[0].accepts(ir::DType::c32));
  EXPECT_EQ(tensor_type(ir::DType::i64), "tensor(int64)");
  EXPECT_EQ(tensor_type(ir::DType::qi8), "");
}

TEST(OnnxSchemas, Names) {
  const auto names = operator_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(is_onnx_domain(""));
  EXPECT_TRUE(is_onnx_domain("ai.onnx.ml"));
  EXPECT_FALSE(is_onnx_domain("com.microsoft"));
  EXPECT_EQ(name(AttributeType::integers), "INTS");
}

}  // namespace
}  // namespace compatcheck::onnx
