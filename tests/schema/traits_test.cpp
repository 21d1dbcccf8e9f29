#include "schema/traits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schema/shipped.h"

namespace compatcheck::schema {
namespace {

TEST(Traits, AreThoseOfTheTables) {
  EXPECT_TRUE(std::ranges::is_sorted(shipped_traits, {}, &OperatorTraits::op));
  EXPECT_TRUE(has_trait("aten::select", Trait::view));
  EXPECT_TRUE(has_trait("prim::unchecked_cast", Trait::view));
  EXPECT_FALSE(has_trait("aten::select", Trait::split));
  EXPECT_FALSE(has_trait("aten::no_such", Trait::view));
}

TEST(Traits, OfAliasesAreTheirOwn) {
  EXPECT_TRUE(has_trait("aten::view", Trait::view));
  EXPECT_FALSE(has_trait("aten::view_copy", Trait::view));
}

TEST(Traits, RandomRowsMakeRandomOperators) {
  EXPECT_TRUE(has_trait("aten::rrelu", Trait::random));
  EXPECT_TRUE(has_trait("aten::rrelu_with_noise", Trait::random)) << "an alias";
  EXPECT_TRUE(has_trait("aten::bernoulli", Trait::random)) << "by its overloads too";
  EXPECT_FALSE(has_trait("aten::relu", Trait::random));
}

}  // namespace
}  // namespace compatcheck::schema
