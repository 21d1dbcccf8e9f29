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

TEST(Traits, FactsSayWhichDtypesChange) {
  EXPECT_TRUE(has_trait("aten::eq", Trait::gives_bool));
  EXPECT_TRUE(has_trait("aten::not_equal", Trait::gives_bool)) << "an alias";
  EXPECT_TRUE(has_trait("aten::logical_not", Trait::gives_bool));
  EXPECT_TRUE(has_trait("aten::__lshift__", Trait::promotes));
  EXPECT_TRUE(has_trait("aten::true_divide", Trait::promotes));
  EXPECT_TRUE(has_trait("aten::true_divide", Trait::widens));
  EXPECT_TRUE(has_trait("aten::arccos", Trait::widens));
  EXPECT_TRUE(has_trait("aten::cumsum", Trait::widens));
  EXPECT_TRUE(has_trait("aten::square", Trait::widens)) << "stated, as no word describes it";
  EXPECT_FALSE(has_trait("aten::add", Trait::widens));
  EXPECT_FALSE(has_trait("aten::relu", Trait::widens) || has_trait("aten::relu", Trait::promotes));
}

}  // namespace
}  // namespace compatcheck::schema
