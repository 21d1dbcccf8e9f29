#include "symbolic/layout.h"

#include <gtest/gtest.h>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

const std::string constants =
    "  %0 : int = prim::Constant[value=0]()\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = prim::Constant[value=2]()\n"
    "  %none : NoneType = prim::Constant()\n  %f : bool = prim::Constant[value=0]()\n";

// "x + 3: 12, 1" of the last output: whose memory, from where, strides. "?" and the operator where nobody knows.
std::string layout(const std::string& input, const std::string& body) {
  const Statement stated = state({{"x", input}}, constants + body);
  const ir::Value* output = stated.graph.outputs().back();
  Layouts layouts(stated.facts);
  const Placement& placement = layouts.of(output);
  if (!placement.layout) return "? " + (placement.unknown->producer() ? placement.unknown->producer()->op() : "");
  const Layout& layout = *placement.layout;
  std::string text = layout.memory == output ? "new" : layout.memory->name();
  if (layout.offset.number() != 0) text += " + " + layout.offset.to_string();
  for (std::size_t i = 0; i < layout.strides.size(); ++i) text += (i ? ", " : ": ") + layout.strides[i].to_string();
  return text + (layout.in_order ? " in order" : "");
}

const std::string transposed = "  %t : Tensor = aten::t(%x)\n";

TEST(Layout, ViewsAreTheSameMemory) {
  EXPECT_EQ(layout("f32[4,3]", transposed + "  return (%t)"), "x: 1, 3");
  EXPECT_EQ(layout("f32[n,3]", transposed + "  return (%t)"), "x: 1, 3");
  EXPECT_EQ(layout("f32[4,n]", "  %r : Tensor = aten::select(%x, %0, %2)\n  return (%r)"), "x + 2*n: 1 in order");
  EXPECT_EQ(layout("f32[4,3]", "  %r : Tensor = aten::slice(%x, %0, %1, %none, %2)\n  return (%r)"), "x + 3: 6, 1");
  EXPECT_EQ(layout("f32[4,3]", transposed + "  %l : Tensor[] = aten::unbind(%t, %0)\n  %a : Tensor, %b : Tensor, %c : Tensor = "
                                            "prim::ListUnpack(%l)\n  return (%c)"),
            "x + 2: 3");
}

TEST(Layout, ReshapeIsAViewWhereStridesAllowOne) {
  const std::string reshape = "  %s : int[] = prim::Constant[value=[2, 6]]()\n  %r : Tensor = aten::reshape(";
  EXPECT_EQ(layout("f32[4,3]", reshape + "%x, %s)\n  return (%r)"), "x: 6, 1 in order");
  EXPECT_EQ(layout("f32[4,3]", transposed + reshape + "%t, %s)\n  return (%r)"), "new: 6, 1 in order");
  const std::string parted =
      "  %s : int[] = prim::Constant[value=[3, 2, 2]]()\n  %r : Tensor = aten::reshape(%t, %s)\n  return (%r)";
  EXPECT_EQ(layout("f32[4,3]", transposed + parted), "x: 1, 6, 3");
}

TEST(Layout, ElementwiseOperatorsKeepTheOrder) {
  const std::string added = "  %r : Tensor = aten::add(%t, %1, %1)\n";
  EXPECT_EQ(layout("f32[4,3]", transposed + added + "  return (%r)"), "new: 1, 3");
  EXPECT_EQ(layout("f32[n,3]", transposed + added + "  return (%r)"), "new: 1, 3");
  EXPECT_EQ(layout("f32[4,3]", transposed + added + "  %c : Tensor = aten::clone(%r, %none)\n  return (%c)"), "new: 1, 3");
  EXPECT_EQ(layout("f32[4,3]", transposed + added + "  %c : Tensor = aten::contiguous(%r, %0)\n  return (%c)"),
            "new: 4, 1 in order");
  EXPECT_EQ(layout("f32[4,4]", transposed + "  %r : Tensor = aten::add(%x, %t, %1)\n  return (%r)"), "new: 4, 1 in order");
  EXPECT_EQ(layout("f32[4,4]", transposed + "  %r : Tensor = aten::add(%t, %x, %1)\n  return (%r)"), "new: 1, 4");
}

TEST(Layout, ContiguousIsTheTensorItselfWhereItLiesSo) {
  EXPECT_EQ(layout("f32[4,3]",
                   "  %p : Tensor = aten::slice(%x, %0, %1, %none, %1)\n  %r : Tensor = aten::contiguous(%p, %0)\n  return (%r)"),
            "x + 3: 3, 1 in order");
  EXPECT_EQ(layout("f32", "  %r : Tensor = aten::contiguous(%x, %0)\n  return (%r)"), "x in order");
}

TEST(Layout, SaysWhoseItIsThatNobodyStates) {
  EXPECT_EQ(
      layout("f32[4,3]", transposed + "  %r : Tensor = aten::polygamma(%1, %t)\n  %s : Tensor = aten::relu(%r)\n  return (%s)"),
      "? aten::polygamma");
}

}  // namespace
}  // namespace compatcheck::symbolic
