// Guards and ranges of exported programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/pt2/guards.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ::testing::ElementsAre;

ExportedInterface with_input(const std::vector<std::string>& sizes) {
  ExportedInterface exported;
  ExportedInput& input = exported.inputs.emplace_back();
  input.name = "x";
  for (const std::string& size : sizes) input.sizes.push_back(parse_expression(size));
  return exported;
}

TEST(Guards, SpellRanges) {
  EXPECT_EQ(to_string(ir::SizeRange{2, 64}), "from 2 to 64");
  EXPECT_EQ(to_string(ir::SizeRange{2, std::nullopt}), "from 2");
  EXPECT_EQ(to_string(ir::SizeRange{std::nullopt, 64}), "up to 64");
  EXPECT_EQ(to_string(ir::SizeRange{}), "any number");
  EXPECT_TRUE((ir::SizeRange{2, 64}.contains(64)));
  EXPECT_FALSE((ir::SizeRange{2, 64}.contains(65)));
  EXPECT_FALSE((ir::SizeRange{2, std::nullopt}.contains(1)));
}

TEST(Guards, NameTheSizesThatViolateThem) {
  ExportedInterface exported = with_input({"s0", "s0 + 1", "s1"});
  exported.ranges.emplace("s0", ir::SizeRange{2, 64});
  exported.conditions = {"L['x'].size()[2] % 2 == 0", "not about sizes"};
  EXPECT_EQ(violation(exported, {{"x", {4, 5, 6}}}), "");
  EXPECT_EQ(violation(exported, {{"x", {4, 6, 6}}}), "dimension 1 of x must be 5, not 6");
  EXPECT_EQ(violation(exported, {{"x", {65, 66, 6}}}), "the size s0 is 65, but must be from 2 to 64");
  EXPECT_EQ(violation(exported, {{"x", {4, 5, 7}}}), "the program requires L['x'].size()[2] % 2 == 0");
  EXPECT_EQ(violation(exported, {{"x", {4, 9}}}), "") << "another rank: nothing can be evaluated";
  EXPECT_EQ(violation(exported, {{"y", {4}}}), "");
}

// The symbols of an expression may stand in a later input.
TEST(Guards, NameWhatOtherInputsDemand) {
  ExportedInterface exported = with_input({"2*s0"});
  exported.inputs.push_back({.name = "y", .sizes = {parse_expression("s0")}});
  EXPECT_EQ(violation(exported, {{"x", {8}}, {"y", {4}}}), "");
  EXPECT_EQ(violation(exported, {{"x", {8}}, {"y", {5}}}), "dimension 0 of x must be 10, not 8");
}

// Beyond a bound a guard isn't evaluated: it is a condition, although it always holds.
TEST(Guards, AreConditionsBeyondTheBounds) {
  std::vector<std::string> sizes;
  std::map<std::string, std::int64_t> hints;
  std::string sum = "0";
  for (int i = 0; i < 9; ++i) {
    const std::string symbol = "s" + std::to_string(i);
    sizes.push_back(symbol);
    hints.emplace(symbol, 6);
    if (i < 8) sum += " + L['x'].size()[" + std::to_string(i) + "]";
  }
  ExportedInterface exported = with_input(sizes);
  const std::string eight = sum + " >= 2", nine = sum + " + L['x'].size()[8] >= 2";
  apply_guards(exported, {eight, nine}, hints);
  EXPECT_THAT(exported.conditions, ElementsAre(nine));

  exported.conditions.clear();
  std::string longer = sum;
  for (int i = 0; i < 900; ++i) longer += " + 1";
  const std::vector<std::string> many(30, longer + " >= 2");
  apply_guards(exported, many, hints);
  EXPECT_GT(exported.conditions.size(), 0u);
  EXPECT_LT(exported.conditions.size(), many.size());
}

}  // namespace
}  // namespace compatcheck::frontend::pt2
