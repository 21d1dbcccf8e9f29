#include "symbolic/condition.h"

#include <gtest/gtest.h>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

const Registry& registry() {
  static const Registry shipped = shipped_registry();
  return shipped;
}

// The first row of a table text that states one for `op`, applied to the call in a graph.
Verdict verdict(const std::string& when, const std::map<std::string, std::string>& inputs, const std::string& call,
                std::string_view op) {
  auto table = mapping::Table::shipped();
  table.overlay_text(std::string(op) + ":\n  7: {to: Identity, " + when + "}\n", "test.yaml");
  const Statement statement = state(inputs, call);
  static const schema::Registry schemas;
  const ir::Node& node = statement.node(op);
  const auto found = table.find(node.op(), node.overload(), 7, schemas);
  return applies(found.rows.front(), Call(node, statement.facts), registry(), schemas);
}

Truth add(const std::string& when, const std::map<std::string, std::string>& inputs,
          const std::string& alpha = "int = prim::Constant[value=1]()") {
  return verdict("when: " + when, inputs, "  %1 : " + alpha + "\n  %2 : Tensor = aten::add(%x, %x, %1)\n  return (%2)",
                 "aten::add")
      .truth;
}

const std::map<std::string, std::string> fixed = {{"x", "f32[2,3]"}}, named = {{"x", "f32[batch,3]"}}, open = {{"x", "?"}};

TEST(Condition, LiteralsAreYesNoOrUnknown) {
  EXPECT_EQ(add("{alpha: 1}", fixed), Truth::yes);
  EXPECT_EQ(add("{alpha: 2}", fixed), Truth::no);
  EXPECT_EQ(add("{alpha: [2, 1]}", fixed), Truth::yes);
  EXPECT_EQ(add("{alpha: 1.0}", fixed), Truth::yes);
  EXPECT_EQ(add("{alpha: 1}", fixed, "float = prim::Constant[value=1.]()"), Truth::yes);
  EXPECT_EQ(add("{alpha: {not: 1}}", fixed), Truth::no);
  EXPECT_EQ(add("{alpha: ~}", fixed), Truth::no);
}

TEST(Condition, TrueIsForBoolsAlone) {
  const std::string yes = "bool = prim::Constant[value=1]()", no = "bool = prim::Constant[value=0]()";
  EXPECT_EQ(add("{alpha: true}", fixed), Truth::no);
  EXPECT_EQ(add("{alpha: true}", fixed, yes), Truth::yes);
  EXPECT_EQ(add("{alpha: true}", fixed, no), Truth::no);
  EXPECT_EQ(add("{alpha: false}", fixed, no), Truth::yes);
  EXPECT_EQ(add("{alpha: 1}", fixed, yes), Truth::yes);  // Python's True is 1
}

TEST(Condition, DtypesAndRanks) {
  EXPECT_EQ(add("{self: {dtype: f32}}", fixed), Truth::yes);
  EXPECT_EQ(add("{self: {dtype: integral}}", fixed), Truth::no);
  EXPECT_EQ(add("{self: {dtype: [integral, floating]}}", fixed), Truth::yes);
  EXPECT_EQ(add("{self: {dtype: f32}}", open), Truth::unknown);
  EXPECT_EQ(add("{tensors: {dtype: f32}}", fixed), Truth::yes);
  EXPECT_EQ(add("{self: {rank: 2}}", named), Truth::yes);
  EXPECT_EQ(add("{self: {rank: {min: 3}}}", named), Truth::no);
  EXPECT_EQ(add("{self: {rank: [3, 4]}}", open), Truth::unknown);
  EXPECT_EQ(add("{self: {rank: known}}", open), Truth::unknown);
}

TEST(Condition, Sizes) {
  EXPECT_EQ(add("{self: {size: {-1: 3}}}", named), Truth::yes);
  EXPECT_EQ(add("{self: {size: {1: 4}}}", named), Truth::no);
  EXPECT_EQ(add("{self: {size: {0: known}}}", named), Truth::no);
  EXPECT_EQ(add("{self: {size: {0: 2}}}", named), Truth::unknown);
  EXPECT_EQ(add("{self: {size: {0: 0}}}", named), Truth::no);  // a size is at least 1
  EXPECT_EQ(add("{self: {size: {0: {min: 1}}}}", named), Truth::yes);
  EXPECT_EQ(add("{self: {size: {0: {min: 2}}}}", named), Truth::unknown);
  EXPECT_EQ(add("{self: {size: {2: 1}}}", named), Truth::no);
  EXPECT_EQ(add("{self: {elements: 6}}", fixed), Truth::yes);
  EXPECT_EQ(add("{self: {elements: 6}}", named), Truth::unknown);
}

// A broken condition decides before an unknown one; of alternatives one that holds.
TEST(Condition, CombinesThreeValues) {
  EXPECT_EQ(add("{self: {dtype: f32}, alpha: 2}", open), Truth::no);
  EXPECT_EQ(add("{self: {dtype: f32}, alpha: 1}", open), Truth::unknown);
  EXPECT_EQ(add("[{self: {dtype: f32}}, {alpha: 1}]", open), Truth::yes);
  EXPECT_EQ(add("[{self: {dtype: f32}}, {alpha: 2}]", open), Truth::unknown);
  EXPECT_EQ(add("[{alpha: 3}, {alpha: 2}]", open), Truth::no);
}

// Of sum(self), whose overload has neither dim nor keepdim.
Truth sum(const std::string& when) {
  return verdict("when: " + when, fixed, "  %1 : NoneType = prim::Constant()\n  %2 : Tensor = aten::sum(%x, %1)\n  return (%2)",
                 "aten::sum")
      .truth;
}

TEST(Condition, WhatTheOverloadLacksHasItsDefaultElsewhere) {
  EXPECT_EQ(sum("{keepdim: false}"), Truth::yes);
  EXPECT_EQ(sum("{keepdim: true}"), Truth::no);
  EXPECT_EQ(sum("{dim: ~}"), Truth::yes) << "no overload has a default for it";
  EXPECT_EQ(sum("{dim: {length: 1}}"), Truth::no);
}

TEST(Condition, OfOutputs) {
  EXPECT_EQ(add("{outputs.0: {dtype: f32}}", fixed), Truth::yes);
  EXPECT_EQ(add("{outputs.0: {rank: 3}}", fixed), Truth::no);
  EXPECT_EQ(add("{outputs.0: {rank: 2}}", open), Truth::unknown);
  EXPECT_EQ(add("{outputs.0: {constant: true}}", fixed), Truth::no);
  EXPECT_EQ(add("{outputs.0: {not: {used: false}}}", fixed), Truth::yes);
  EXPECT_EQ(add("{outputs.1: {rank: 2}}", fixed), Truth::no);
}

TEST(Condition, UnknownNamesTheInputThatSettlesIt) {
  const auto result =
      verdict("when: {self: {dtype: f32}}", {{"x", "anything"}},
              "  %1 : int = prim::Constant[value=1]()\n  %2 : Tensor = aten::add(%x, %x, %1)\n  return (%2)", "aten::add");
  EXPECT_EQ(result.truth, Truth::unknown);
  EXPECT_EQ(result.wants, std::vector<std::uint32_t>{0});
}

Verdict adaptive(const std::string& input, const std::string& size) {
  return verdict(
      "requires: adaptive_output_divides", {{"x", input}},
      "  %1 : int[] = prim::Constant[value=" + size + "]()\n  %2 : Tensor = aten::adaptive_avg_pool2d(%x, %1)\n  return (%2)",
      "aten::adaptive_avg_pool2d");
}

TEST(Condition, AdaptiveOutputDivides) {
  EXPECT_EQ(adaptive("f32[1,3,8,6]", "[4, 3]").truth, Truth::yes);
  EXPECT_EQ(adaptive("f32[1,3,8,6]", "[4, 4]").truth, Truth::no);
  EXPECT_EQ(adaptive("f32[1,3,8,6]", "[4, 4]").message, "dimension 3 of self must be a multiple of output_size 4, but is 6");
  EXPECT_EQ(adaptive("f32[1,3,height,width]", "[1, 1]").truth, Truth::yes);
  EXPECT_EQ(adaptive("f32[1,3,height,6]", "[7, 3]").message,
            "dimension 2 of self must be a multiple of output_size 7, but is height");
  EXPECT_EQ(adaptive("f32[1,3,height,6]", "[7, 4]").truth, Truth::no);
  EXPECT_EQ(adaptive("f32[1,3,height,6]", "[1, 3]").truth, Truth::no);
  EXPECT_EQ(adaptive("f32[1,3,8,6]", "[0, 3]").truth, Truth::no);
  EXPECT_EQ(adaptive("?", "[2, 2]").truth, Truth::unknown);
}

Truth sizes(const std::string& list, const std::string& equal) {
  return verdict("when: {output_size: {equals: " + equal + "}}", {{"n", "int"}, {"x", "f32[1,3,8,6]"}},
                 "  %4 : int = prim::Constant[value=4]()\n  %1 : int[] = prim::ListConstruct(" + list +
                     ")\n  %2 : Tensor = aten::adaptive_avg_pool2d(%x, %1)\n  return (%2)",
                 "aten::adaptive_avg_pool2d")
      .truth;
}

TEST(Condition, ListsAreEqualMemberByMember) {
  EXPECT_EQ(sizes("%4, %4", "[4, 4]"), Truth::yes);
  EXPECT_EQ(sizes("%4, %4", "[4, 3]"), Truth::no);
  EXPECT_EQ(sizes("%4, %4", "[3, 4]"), Truth::no);
  EXPECT_EQ(sizes("%4, %4", "[4]"), Truth::no);
  EXPECT_EQ(sizes("%4, %n", "[4, 4]"), Truth::unknown);
  EXPECT_EQ(sizes("%n, %4", "[4, 4]"), Truth::unknown);
  EXPECT_EQ(sizes("%n, %4", "[4, 3]"), Truth::no);
}

Truth lstm(int weights) {
  std::string names;
  std::map<std::string, std::string> inputs = {{"h", "f32[1,2,8]"}, {"w", "f32[32,8]"}, {"x", "f32[5,2,8]"}};
  for (int i = 0; i < weights; ++i) names += i ? ", %w" : "%w";
  return verdict("requires: lstm_without_projection", inputs,
                 "  %1 : bool = prim::Constant[value=1]()\n  %2 : bool = prim::Constant[value=0]()\n  %3 : int = "
                 "prim::Constant[value=1]()\n"
                 "  %4 : float = prim::Constant[value=0.]()\n  %5 : Tensor[] = prim::ListConstruct(%h, %h)\n"
                 "  %6 : Tensor[] = prim::ListConstruct(" +
                     names +
                     ")\n"
                     "  %7 : Tensor, %8 : Tensor, %9 : Tensor = aten::lstm(%x, %5, %6, %1, %3, %4, %2, %2, %2)\n  return (%7)",
                 "aten::lstm")
      .truth;
}

TEST(Condition, LstmWithoutProjection) {
  EXPECT_EQ(lstm(4), Truth::yes);
  EXPECT_EQ(lstm(5), Truth::no);
}

Truth element_of(const std::string& list) {
  return verdict("requires: list_of_numbers", {{"x", "f32[1]"}},
                 "  %1 : int = prim::Constant[value=0]()\n" + list + "\n  return (%3)", "aten::__getitem__")
      .truth;
}

TEST(Condition, ListOfNumbers) {
  EXPECT_EQ(element_of("  %2 : int[] = prim::ListConstruct(%1)\n  %3 : int = aten::__getitem__(%2, %1)"), Truth::yes);
  EXPECT_EQ(element_of("  %2 : Tensor[] = prim::ListConstruct(%x)\n  %3 : Tensor = aten::__getitem__(%2, %1)"), Truth::no);
}

}  // namespace
}  // namespace compatcheck::symbolic
