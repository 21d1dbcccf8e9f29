#include "symbolic/dim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "symbolic/emptiness.h"
#include "symbolic/evaluate.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

const Dim h = Dim::symbol("h"), w = Dim::symbol("w");

TEST(Dim, SpellsAsPeopleWrite) {
  EXPECT_EQ((Dim(2) * h + Dim(1)).to_string(), "2*h + 1");
  EXPECT_EQ((h - Dim(1)).to_string(), "h - 1");
  EXPECT_EQ((h * w).to_string(), "h*w");
  EXPECT_EQ((floor_div(h - Dim(1), 2) + Dim(1)).to_string(), "(h - 1)//2 + 1");
  EXPECT_EQ((Dim(0) - h).to_string(), "-h");
  EXPECT_EQ((Dim(2) * floor_div(h, 2) + w * floor_div(h, 3) - floor_div(w, 2)).to_string(), "2*(h//2) + (h//3)*w - w//2");
  EXPECT_EQ((Dim(0) - floor_div(h, 2)).to_string(), "-(h//2)");
  EXPECT_EQ(Dim::unknown().to_string(), "?");
}

TEST(Dim, EqualExpressionsCompareEqual) {
  EXPECT_TRUE(provably_equal((h + Dim(1)) * (h - Dim(1)), h * h - Dim(1)));
  EXPECT_TRUE(provably_equal(h * w, w * h));
  EXPECT_TRUE(provably_equal(floor_div(Dim(4) * h, 2), Dim(2) * h));
  EXPECT_TRUE(provably_equal(floor_div(Dim(2) * h + Dim(1), 2), h));
  EXPECT_TRUE(provably_equal(floor_div(h * w, w), h));
  EXPECT_TRUE(provably_equal(floor_div(floor_div(h - Dim(1), 2), 2), floor_div(h - Dim(1), 4)));
  EXPECT_TRUE(provably_equal(h - h, 0));
  EXPECT_FALSE(provably_equal(h, w));
  EXPECT_TRUE(provably_different(h, h + Dim(1)));
  EXPECT_FALSE(provably_different(h, w));
}

TEST(Dim, EvaluationIsPythons) {
  const Sizes sizes{{"h", 7}, {"w", 4}};
  EXPECT_EQ(evaluate(Dim(5), sizes), 5);
  EXPECT_EQ(evaluate(floor_div(h - Dim(1), Dim(2)) + w, sizes), 7);
  EXPECT_EQ(evaluate(floor_div(w - h, Dim(2)), sizes), -2);
  EXPECT_EQ(evaluate(modulo(w - h, Dim(5)), sizes), 2);
  EXPECT_EQ(evaluate(Dim(3) * floor_div(floor_div(h, Dim(2)) + Dim(1), Dim(2)) - h * Dim(2), sizes), -8);
  EXPECT_EQ(evaluate(h * w + Dim(1), sizes), 29);
  EXPECT_EQ(evaluate(Dim::symbol("batch"), sizes), std::nullopt);
  EXPECT_EQ(evaluate(floor_div(h, w - Dim(4)), sizes), std::nullopt);
}

TEST(Dim, OneNameIsSolved) {
  EXPECT_EQ(solve(Dim(2) * h, 6), 3);
  EXPECT_EQ(solve(Dim(2) * h, 7), std::nullopt);
  EXPECT_EQ(solve(Dim(3) * h - Dim(1), 3'000'002), 1'000'001);
  EXPECT_EQ(solve(floor_div(h + Dim(1), 2), 4), 7);
  EXPECT_EQ(solve(h, 5), 5);
  EXPECT_EQ(solve(h * w, 6), std::nullopt);
  EXPECT_EQ(solve(6, 6), std::nullopt);
  EXPECT_EQ(solve(Dim::unknown(), 6), std::nullopt);
}

// One row of a named size: 1, or 0 where the size is, so that nothing is computed from it beforehand.
TEST(Dim, OneUnlessEmptyIsNoNumber) {
  const Dim row = at_most_one(h - Dim(1));
  EXPECT_EQ(row.to_string(), "min(h - 1, 1)");
  EXPECT_FALSE(row.is_number());
  EXPECT_TRUE(provably_equal(row, 1));
  EXPECT_TRUE(provably_equal(row * w + row, w + Dim(1)));
  EXPECT_TRUE(provably_at_least(row, 1));
  EXPECT_FALSE(provably_at_least_if_empty(row, 1));
  EXPECT_EQ(broadcast_dim(row, w).to_string(), "w");
  EXPECT_EQ(broadcast_dim(w, row).to_string(), "w");
  EXPECT_EQ(broadcast_dim(row, 1).to_string(), "min(h - 1, 1)");
  EXPECT_EQ(at_most_one(at_most_one(w)).to_string(), "min(w, 1)");
  EXPECT_EQ(at_most_one(7).number(), 1);
  EXPECT_EQ(evaluate(row, {{"h", 1}}), 0);
  EXPECT_EQ(evaluate(Dim(2) * row + w, {{"h", 5}, {"w", 3}}), 5);
  EXPECT_EQ(names_in(row * w), (std::vector<std::string>{"h", "w"}));
}

TEST(Dim, UnknownEqualsNothing) {
  EXPECT_FALSE(provably_equal(Dim::unknown(), Dim::unknown()));
  EXPECT_FALSE(provably_different(Dim::unknown(), Dim(1)));
  EXPECT_TRUE((Dim::unknown() * Dim(0)).is_unknown());
  EXPECT_TRUE(floor_div(h, 0).is_unknown());
}

TEST(Dim, OverflowIsUnknown) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE((Dim(most) + Dim(1)).is_unknown());
  EXPECT_TRUE((Dim(most) * Dim(2)).is_unknown());
  EXPECT_TRUE((Dim(most) * h * Dim(2)).is_unknown());
  EXPECT_TRUE(floor_div(Dim(least), -1).is_unknown());
  EXPECT_EQ(Dim(least).to_string(), "-9223372036854775808");
  EXPECT_TRUE(floor_div(Dim(least) * h, -1).is_unknown());
  EXPECT_EQ(floor_div(Dim(least) * h * w, Dim(0) - w).to_string(), "(-9223372036854775808*h*w)//(-w)");
}

// What nobody could read is unknown before it takes time and memory without end.
TEST(Dim, ExpressionsStayReadable) {
  Dim sum = 0, power = h, tower = h;
  for (int i = 0; i < 64; ++i) sum = sum + Dim::symbol("n" + std::to_string(i));
  EXPECT_FALSE(sum.is_unknown());
  EXPECT_TRUE((sum + h).is_unknown());
  EXPECT_TRUE((sum * sum).is_unknown());
  for (int i = 0; i < 62; ++i) power = power * power;
  EXPECT_TRUE(power.is_unknown());
  for (int i = 0; i < 100; ++i) tower = floor_div((tower + Dim(1)) * (tower + w), tower + Dim(2));
  EXPECT_TRUE(tower.is_unknown());
  EXPECT_TRUE(Dim::symbol(std::string(5000, 'n')).is_unknown());
  EXPECT_TRUE(provably_equal(sum - sum, 0));
}

TEST(Dim, SizesAreAtLeastOne) {
  EXPECT_TRUE(provably_at_least(h, 1));
  EXPECT_FALSE(provably_at_least(h, 2));
  EXPECT_TRUE(provably_at_least(h * w + h - Dim(2), 0));
  EXPECT_FALSE(provably_at_least(h - w, 0));
  EXPECT_FALSE(provably_at_least(floor_div(h, 2), 1));
  EXPECT_FALSE(provably_at_least(Dim::any_integer("n"), 0));
  EXPECT_EQ(Dim::any_integer("n").to_string(), "n");
  EXPECT_FALSE(provably_equal(Dim::any_integer("n"), Dim::symbol("n")));
}

TEST(Dim, BoundsFollowFromThoseOfNames) {
  const Dim n = Dim::symbol("n", {4, 64}), m = Dim::symbol("m", {1, std::nullopt});
  EXPECT_EQ(bounds(n), (SizeRange{4, 64}));
  EXPECT_EQ(bounds(h), (SizeRange{0, std::nullopt}));
  EXPECT_EQ(bounds(n - Dim(4)), (SizeRange{0, 60}));
  EXPECT_EQ(bounds(Dim(2) - n), (SizeRange{-62, -2}));
  EXPECT_EQ(bounds(floor_div(n - Dim(1), 2) + Dim(1)), (SizeRange{2, 32}));
  EXPECT_EQ(bounds(floor_div(n, Dim(0) - Dim(3))), (SizeRange{}));
  EXPECT_EQ(bounds(floor_div(n, m)), (SizeRange{0, 64}));
  EXPECT_EQ(bounds(floor_div(m, n)), (SizeRange{0, std::nullopt}));
  EXPECT_EQ(bounds(n * n - h), (SizeRange{std::nullopt, 4096}));
  EXPECT_EQ(bounds(n * Dim::any_integer("k")), (SizeRange{}));
  EXPECT_EQ(bounds(Dim(std::numeric_limits<std::int64_t>::max() / 4) * n).most, std::nullopt);
  EXPECT_EQ(bounds(Dim::unknown()), (SizeRange{}));
  EXPECT_TRUE(provably_different(n, 3));
  EXPECT_FALSE(provably_different(n, 4));
  EXPECT_TRUE(provably_different(n, h + Dim(65)));
  EXPECT_TRUE(provably_equal(n, Dim::symbol("n")));
  EXPECT_EQ(larger(n, 4).to_string(), "n");
  EXPECT_TRUE(larger(n, 5).is_unknown());
  EXPECT_EQ(smaller(n, 64).to_string(), "n");
  EXPECT_TRUE(smaller(n, 63).is_unknown());
  EXPECT_EQ(at_most_one(n).number(), 1);
  EXPECT_EQ(at_most_one(h).number(), std::nullopt);
  EXPECT_TRUE(never_one(n));
  EXPECT_FALSE(never_one(m));
}

TEST(Dim, RangesAreStatedOfNames) {
  const NamedRanges ranges = {{"h", {3, 9}}};
  const Dim made = with_ranges(floor_div(h, 2) * w + at_most_one(h) - Dim::any_integer("h"), ranges);
  EXPECT_EQ(made.to_string(), "(h//2)*w - h + 1");
  EXPECT_EQ(bounds(with_ranges(floor_div(h, 2) + Dim(1), ranges)), (SizeRange{2, 5}));
  EXPECT_EQ(bounds(with_ranges(Dim::any_integer("h"), ranges)), (SizeRange{}));
  EXPECT_EQ(bounds(with_ranges(w, ranges)), (SizeRange{0, std::nullopt}));
  EXPECT_TRUE(with_ranges(Dim::unknown(), ranges).is_unknown());
}

// Random expressions: the normal form has the value that the steps have, and equal or different ones are.
TEST(Dim, NormalFormKeepsValues) {
  std::mt19937 random(7);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  struct Pair {
    Dim dim;
    std::int64_t value;
  };
  for (int round = 0; round < 3000; ++round) {
    const bool may_be_empty = round % 2 == 0;
    const auto any = [&] { return below(10) + (may_be_empty ? 0 : 1); };
    const Sizes sizes = {{"a", any()}, {"b", any()}, {"c", any()}};
    std::vector<Pair> made;
    for (const auto& [name, size] : sizes) {
      const auto end = [&](std::int64_t by) { return below(3) == 0 ? std::nullopt : std::optional(size + by * below(4)); };
      made.push_back({Dim::symbol(name, {end(-1), end(1)}), size});
    }
    for (const std::int64_t number : {0, 1, 2, 3, -1, 7}) made.push_back({Dim(number), number});
    for (int step = 0; step < 12; ++step) {
      const Pair x = made[static_cast<std::size_t>(below(static_cast<int>(made.size())))],
                 y = made[static_cast<std::size_t>(below(static_cast<int>(made.size())))];
      if (std::abs(x.value) > 100'000 || std::abs(y.value) > 100'000) continue;
      switch (below(5)) {
        case 0: made.push_back({x.dim + y.dim, x.value + y.value}); break;
        case 1: made.push_back({x.dim - y.dim, x.value - y.value}); break;
        case 2: made.push_back({x.dim * y.dim, x.value * y.value}); break;
        case 3:
          if (y.value == 0) continue;
          made.push_back({floor_div(x.dim, y.dim),
                          static_cast<std::int64_t>(std::floor(static_cast<double>(x.value) / static_cast<double>(y.value)))});
          break;
        default:
          if (y.value == 0) continue;
          made.push_back({modulo(x.dim, y.dim),
                          x.value - y.value * static_cast<std::int64_t>(
                                                  std::floor(static_cast<double>(x.value) / static_cast<double>(y.value)))});
      }
      const Pair& last = made.back();
      const auto value = evaluate(last.dim, sizes);
      ASSERT_TRUE(!value || *value == last.value)
          << last.dim.to_string() << " of " << x.dim.to_string() << " and " << y.dim.to_string();
      ASSERT_TRUE(!provably_equal(last.dim, x.dim) || last.value == x.value) << last.dim.to_string();
      ASSERT_TRUE(!provably_different(last.dim, x.dim) || last.value != x.value) << last.dim.to_string();
      for (const std::int64_t bound : {-2, 0, 1, 5})
        ASSERT_TRUE(may_be_empty || !provably_at_least(last.dim, bound) || last.value >= bound) << last.dim.to_string();
      ASSERT_TRUE(bounds(last.dim).contains(last.value)) << last.dim.to_string() << " is " << last.value;
      ASSERT_TRUE(!at_most_one(last.dim).number() || last.value < 0 ||
                  at_most_one(last.dim).number() == std::min<std::int64_t>(last.value, 1));
    }
  }
}

}  // namespace
}  // namespace compatcheck::symbolic
