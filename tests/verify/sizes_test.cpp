#include "verification/sizes.h"

#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "tensors.h"
#include "verification/resize.h"
#include "verification/size_search.h"

namespace compatcheck::verification {
namespace {

using symbolic::Dim;

inference::Heard heard(Dim size, Dim other, symbolic::SizeDemand::Relation relation = symbolic::SizeDemand::Relation::equal) {
  return {{.size = std::move(size), .other = std::move(other), .relation = relation}, nullptr, true};
}

TEST(Sizes, DemandsAreMetByTheNearest) {
  const Dim x = Dim::symbol("x"), y = Dim::symbol("y");
  SizeSearch search({heard(x * y, 48), heard(x, 2, symbolic::SizeDemand::Relation::multiple)}, {});
  EXPECT_EQ(search.fit({{"x", 2}, {"y", 24}}, {"x", "y"}), (Sizes{{"x", 2}, {"y", 24}}));
  EXPECT_EQ(search.fit({{"x", 6}, {"y", 3}}, {"x", "y"}), (Sizes{{"x", 6}, {"y", 8}}));
  EXPECT_EQ(search.fit({{"x", 6}, {"y", 8}}, {"x", "y"}, {{"x", 6}, {"y", 8}}), (Sizes{{"x", 4}, {"y", 12}}));
  EXPECT_EQ(search.fit({{"x", 6}, {"y", 3}}, {"x"}), (Sizes{{"x", 16}, {"y", 3}}));
  EXPECT_EQ(search.fit({{"x", 5}, {"y", 7}}, {"y"}), std::nullopt);
  EXPECT_EQ(search.tie_of("x"), "x*y must be 48");
}

TEST(Sizes, DemandsOfBranchesAreMetWhereTheyCanBe) {
  const Dim x = Dim::symbol("x");
  inference::Heard unsure = heard(x, 5);
  unsure.for_sure = false;
  SizeSearch search({heard(floor_div(x, 3) * 3, x), unsure}, {});
  EXPECT_EQ(search.fit({{"x", 2}}, {"x"}), (Sizes{{"x", 3}}));
  EXPECT_EQ(SizeSearch({unsure}, {}).fit({{"x", 2}}, {"x"}), (Sizes{{"x", 5}}));
}

TEST(Sizes, ASizeOf0HasOthers) {
  const ir::Graph graph;
  const symbolic::FactTable facts;
  SizeSearch search({}, {});
  const Sizes from{{"x", 0}, {"y", 2}, {"z", 3}};
  const SizePlan plan({"x", "y", "z"}, {}, from, graph, facts, search);
  for (const std::vector<std::string>& names : {std::vector<std::string>{"x"}, {"x", "y"}, {"x", "y", "z"}}) {
    const auto changed = plan.changed(from, names, 1);
    ASSERT_FALSE(changed.empty());
    for (const std::string& name : names) EXPECT_NE(changed.front().at(name), from.at(name));
  }
}

// What can't be met takes no more time the more often it is asked for.
TEST(Sizes, SearchesShareOneBudget) {
  Dim product = 1;
  std::vector<std::string> names;
  Sizes sizes;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    names.emplace_back(name);
    sizes[name] = 2;
    product = product * Dim::symbol(name);
  }
  const auto steps_of = [&](int searches) {
    int looks = 0;
    const ir::Watch watch([&] { return ++looks < 0; }, 1e9);
    SizeSearch search({heard(product, 1'000'003), heard(Dim::symbol("x"), 3)}, {}, watch);
    for (int i = 0; i < searches; ++i) EXPECT_EQ(search.fit(sizes, names), std::nullopt);
    EXPECT_EQ(search.fit({{"x", 3}}, {"x"}), (Sizes{{"x", 3}})) << "what holds as it is";
    return looks;
  };
  EXPECT_GT(steps_of(1), 0);
  EXPECT_EQ(steps_of(20), steps_of(10));
}

TEST(Sizes, ASearchCanBeCancelled) {
  const Dim x = Dim::symbol("x"), y = Dim::symbol("y");
  const ir::Watch watch([] { return true; }, 1e9);
  SizeSearch search({heard(x * y, 1'000'003)}, {}, watch);
  EXPECT_THROW(search.fit({{"x", 2}, {"y", 2}}, {"x", "y"}), Cancelled);
}

TEST(Sizes, ExamplesAreRepeatedAndCutOff) {
  const auto tensor = testing::tensor<float>(ir::DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto larger = resized(tensor, {3, 4});
  EXPECT_EQ(larger.sizes, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(testing::elements<float>(larger), (std::vector<float>{1, 2, 3, 1, 4, 5, 6, 4, 1, 2, 3, 1}));
  EXPECT_EQ(testing::elements<float>(resized(tensor, {1, 2})), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace compatcheck::verification
