// What holds of values that loops carry, after however many iterations.
#include <gtest/gtest.h>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

TEST(Loops, ATextThatChangesIsNotTheFirst) {
  const Statement statement = state({{"n", "int"}},
                                    "  %true : bool = prim::Constant[value=1]()\n  %a : str = prim::Constant[value=\"a\"]()\n  "
                                    "%b : str = prim::Constant[value=\"b\"]()\n"
                                    "  %r : str, %s : str = prim::Loop(%n, %true, %a, %a)\n    block0(%i : int, %t : str, %u : "
                                    "str):\n      -> (%true, %b, %u)\n  return (%r, %s)");
  EXPECT_FALSE(std::holds_alternative<ConstantFact>(statement.facts.of(statement.graph.outputs()[0]).value));
  EXPECT_TRUE(std::holds_alternative<ConstantFact>(statement.facts.of(statement.graph.outputs()[1]).value));
}

// Each iteration moves every value one place on, and the first one grows: the last one changes only after as many iterations.
TEST(Loops, WhatChangesLate) {
  constexpr int places = 40;
  std::string outputs, given, block = "%i : int", back = "%true, %grown", returned;
  for (int i = 0; i < places; ++i) {
    const std::string n = std::to_string(i);
    outputs += (i ? ", %r" : "%r") + n + " : Tensor";
    given += ", %x";
    block += ", %b" + n + " : Tensor";
    if (i > 0) back += ", %b" + std::to_string(i - 1);
  }
  const Statement statement = state(
      {{"x", "f32[2,3]"}, {"n", "int"}},
      "  %true : bool = prim::Constant[value=1]()\n  %zero : int = prim::Constant[value=0]()\n  " + outputs +
          " = prim::Loop(%n, %true" + given + ")\n    block0(" + block +
          "):\n      %l : Tensor[] = prim::ListConstruct(%b0, %b0)\n      %grown : Tensor = aten::cat(%l, %zero)\n      -> (" +
          back + ")\n  return (%r0, %r" + std::to_string(places - 1) + ")");
  EXPECT_EQ(statement.output(0), "f32[?, 3]");
  EXPECT_NE(statement.output(1), "f32[2, 3]");
}

// Loops inside loops, each of which counts from the same number.
TEST(Loops, ManyInsideEachOther) {
  constexpr int depth = 60;
  std::string body = "  %true : bool = prim::Constant[value=1]()\n  %one : int = prim::Constant[value=1]()\n", rest;
  for (int i = 0; i < depth; ++i) {
    const std::string n = std::to_string(i), inner = i + 1 < depth ? "%r" + std::to_string(i + 1) : "%one";
    body += "  %r" + n + " : int = prim::Loop(%n, %true, %n)\n    block0(%i" + n + " : int, %b" + n + " : int):\n";
    rest = "      %y" + n + " : int = aten::add(%b" + n + ", " + inner + ")\n      -> (%true, %y" + n + ")\n" + rest;
  }
  EXPECT_EQ(state({{"n", "int"}}, body + rest + "  return (%r0)").output(), "int");
}

}  // namespace
}  // namespace compatcheck::symbolic
