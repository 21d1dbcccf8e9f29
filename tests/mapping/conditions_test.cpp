// `when`, read.
#include <cmath>

#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

Predicate predicate(const std::string& text) {
  const Row row = only_row("{to: F, when: {x: " + text + "}}");
  if (row.when.size() != 1 || row.when[0].size() != 1) return {};
  EXPECT_EQ(row.when[0][0].argument, "x");
  return row.when[0][0].predicate;
}

Literal literal(const std::string& text) {
  const auto any_of = predicate(text).any_of;
  EXPECT_TRUE(any_of && any_of->size() == 1) << text;
  return any_of->front();
}

TEST(Conditions, Literals) {
  EXPECT_EQ(literal("3"), Literal(std::int64_t{3}));
  EXPECT_EQ(literal("-1"), Literal(std::int64_t{-1}));
  EXPECT_EQ(literal("+2"), Literal(std::int64_t{2}));
  EXPECT_EQ(literal("0.5"), Literal(0.5));
  EXPECT_EQ(literal("1e-5"), Literal(1e-5));
  EXPECT_EQ(literal("-.inf"), Literal(-HUGE_VAL));
  EXPECT_TRUE(std::isnan(std::get<double>(literal(".nan"))));
  EXPECT_EQ(literal("true"), Literal(true));
  EXPECT_EQ(literal("~"), Literal(std::monostate()));
  EXPECT_EQ(literal("bilinear"), Literal("bilinear"));
  EXPECT_EQ(literal("\"3\""), Literal("3"));
  EXPECT_EQ(literal("3d"), Literal("3d"));
}

TEST(Conditions, Lists) {
  EXPECT_EQ(predicate("[1, ~, sum]").any_of, (std::vector<Literal>{std::int64_t{1}, std::monostate(), "sum"}));
  EXPECT_EQ(predicate("{equals: [1, 1]}").equals, (std::vector<Literal>{std::int64_t{1}, std::int64_t{1}}));
  EXPECT_EQ(predicate("{equals: []}").equals, std::vector<Literal>());
  EXPECT_EQ(predicate("{each: {min: 1}}").each->min, 1);
  EXPECT_EQ(predicate("{length: 2}").length->any_of, std::vector<Literal>{std::int64_t{2}});
}

TEST(Conditions, Numbers) {
  const Predicate range = predicate("{min: -1, max: 2.5}");
  EXPECT_EQ(range.min, -1);
  EXPECT_EQ(range.max, 2.5);
}

TEST(Conditions, Words) {
  EXPECT_EQ(predicate("{none: false}").none, false);
  EXPECT_EQ(predicate("{constant: true}").constant, true);
  EXPECT_EQ(predicate("{used: false}").used, false);
  EXPECT_EQ(predicate("{not: {none: true}}").negated->none, true);
}

TEST(Conditions, Tensors) {
  EXPECT_EQ(predicate("{dtype: f32}").dtype, std::vector<std::string>{"f32"});
  EXPECT_EQ(predicate("{dtype: [f32, integral]}").dtype, (std::vector<std::string>{"f32", "integral"}));
  EXPECT_EQ(predicate("{rank: known}").rank_known, true);
  EXPECT_EQ(predicate("{rank: [3, 4]}").rank->any_of->size(), 2u);
  EXPECT_EQ(predicate("{rank: {min: 1}}").rank->min, 1);
  EXPECT_EQ(predicate("{elements: 1}").elements->any_of->size(), 1u);
  const Predicate sizes = predicate("{size: {1: known, -1: {min: 2}}}");
  ASSERT_EQ(sizes.sizes.size(), 2u);
  EXPECT_EQ(sizes.sizes[0].dim, 1);
  EXPECT_TRUE(sizes.sizes[0].known);
  EXPECT_EQ(sizes.sizes[1].dim, -1);
  EXPECT_EQ(sizes.sizes[1].value->min, 2);
}

TEST(Conditions, OneOfSeveralSets) {
  const Row row = only_row("{to: F, when: [{a: 1, b: 2}, {outputs.1: {used: false}}, {tensors: {rank: 4}}]}");
  ASSERT_EQ(row.when.size(), 3u);
  EXPECT_EQ(row.when[0].size(), 2u);
  EXPECT_EQ(row.when[1][0].argument, "outputs.1");
  EXPECT_EQ(row.when[2][0].argument, "tensors");
  EXPECT_EQ(row.when[0][1].place.column, 36);
}

}  // namespace
}  // namespace compatcheck::mapping
