// What engines are told of a model's values.
#include <gtest/gtest.h>

#include "engines/look.h"
#include "engines/profile_text.h"

namespace compatcheck::engines {
namespace {

constexpr int opset = 17;

class ValuesTest : public testing::Test {
 protected:
  ValuesTest() { model_.opset = opset; }

  onnx::ValueId floats(std::vector<std::int64_t> dims) {
    onnx::ValueInfo info;
    info.dtype = ir::DType::f32;
    info.shape.emplace();
    for (const std::int64_t dim : dims) info.shape->push_back({dim, {}});
    return model_.add_value(info);
  }
  onnx::ValueId constant() {
    const auto value = floats({3, 2});
    model_.initializers.push_back({value, onnx::make_tensor(ir::DType::f32, {3, 2}, std::vector<double>(6, 0.5))});
    return value;
  }
  onnx::ValueId call(const char* op, std::vector<onnx::ValueId> inputs) {
    onnx::Node node{
        .op = op, .domain = {}, .inputs = std::move(inputs), .outputs = {floats({3, 2})}, .attributes = {}, .name = {}};
    return model_.graph.nodes.emplace_back(std::move(node)).outputs.front();
  }
  // Of the last node.
  Verdict verdict() const {
    const auto table = mapping::Table::shipped();
    const Profile profile = profile_from(
        "engine: acme\nversion: \"1\"\noperators: {Add: {when: {B: {constant: true}}}, Abs: yes, Gemm: yes, RandomNormalLike: "
        "yes}\n");
    return look_at(model_, profile, table.onnx_changes(), {}).nodes.back().verdict;
  }

  onnx::Model model_;
};

TEST_F(ValuesTest, ConstantsAreNoMatterOfTheEngine) {
  call("Add", {floats({3, 2}), constant()});
  EXPECT_EQ(verdict().support, Support::yes);
}

TEST_F(ValuesTest, WhatIsMadeOfConstantsAloneMayBeFolded) {
  call("Add", {floats({3, 2}), call("Abs", {call("Abs", {constant()})})});
  EXPECT_EQ(verdict().support, Support::unknown);
  EXPECT_EQ(verdict().settled_by, SettledBy::nothing);
}

TEST_F(ValuesTest, WhatHangsOnAnInputOrOnChanceIsNotFolded) {
  const auto input = floats({3, 2});
  call("Add", {input, call("Gemm", {constant(), input})});
  EXPECT_EQ(verdict().message, "Add: B must be a constant, but is computed");
  call("Add", {input, call("RandomNormalLike", {constant()})});
  EXPECT_EQ(verdict().message, "Add: B must be a constant, but is computed");
}

}  // namespace
}  // namespace compatcheck::engines
