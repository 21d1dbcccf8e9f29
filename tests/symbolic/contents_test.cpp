// Small tensors of sizes on their way from size() to view(), as traced models compute them.
#include <gtest/gtest.h>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

const std::string numbers =
    "  %zero : int = prim::Constant[value=0]()\n  %one : int = prim::Constant[value=1]()\n  %two : int = "
    "prim::Constant[value=2]()\n"
    "  %minus : int = prim::Constant[value=-1]()\n  %no : bool = prim::Constant[value=0]()\n  %none : NoneType = "
    "prim::Constant()\n"
    "  %half : float = prim::Constant[value=0.5]()\n  %f32 : int = prim::Constant[value=6]()\n";

std::string output(const std::string& input, const std::string& body) { return state({{"x", input}}, numbers + body).output(); }

TEST(Contents, SizesThroughTensorArithmetic) {
  const std::string body =
      "  %h : int = aten::size(%x, %one)\n  %t : Tensor = prim::NumToTensor(%h)\n  %m : Tensor = aten::mul(%t, %two)\n"
      "  %p : Tensor = aten::add(%m, %one, %one)\n  %q : Tensor = aten::floor_divide(%p, %two)\n  %i : int = aten::Int(%q)\n"
      "  %l : int[] = prim::ListConstruct(%i, %minus)\n  %v : Tensor = aten::view(%x, %l)\n  return (%v)";
  EXPECT_EQ(output("f32[3,4]", body), "f32[4, 3]");
  EXPECT_EQ(output("f32[batch,h]", body), "f32[h, batch]");
  EXPECT_EQ(output("f32[?,?]", body), "f32[?, ?]");
}

TEST(Contents, ShapesAsVectors) {
  const std::string body =
      "  %s : Tensor = aten::_shape_as_tensor(%x)\n  %a : Tensor = aten::slice(%s, %zero, %one, %none, %one)\n"
      "  %t : Tensor = aten::select(%s, %zero, %zero)\n  %u : Tensor = aten::unsqueeze(%t, %zero)\n"
      "  %l : Tensor[] = prim::ListConstruct(%a, %u)\n  %c : Tensor = aten::cat(%l, %zero)\n  return (%c)";
  EXPECT_EQ(output("f32[2,3,4]", body), "i64[3] {3, 4, 2}");
  EXPECT_EQ(output("f32[n,3,w]", body), "i64[3] {3, w, n}");
}

TEST(Contents, OfPlacesInAVector) {
  const std::string body =
      "  %s : Tensor = aten::_shape_as_tensor(%x)\n  %p : Long(2) = prim::Constant[value= 2  0 [ CPULongType{2} ]]()\n";
  const std::string selected = body + "  %r : Tensor = aten::index_select(%s, %zero, %p)\n  return (%r)";
  const std::string gathered = body + "  %r : Tensor = aten::gather(%s, %zero, %p, %no)\n  return (%r)";
  for (const std::string& read : {selected, gathered}) {
    EXPECT_EQ(output("f32[2,3,4]", read), "i64[2] {4, 2}");
    EXPECT_EQ(output("f32[n,3,w]", read), "i64[2] {w, n}");
  }
}

TEST(Contents, ScalesInFloats) {
  const std::string body =
      "  %h : int = aten::size(%x, %one)\n  %t : Tensor = prim::NumToTensor(%h)\n  %f : Tensor = aten::to(%t, %f32, %no, %no, "
      "%none)\n"
      "  %m : Tensor = aten::mul(%f, %half)\n  %r : Tensor = aten::floor(%m)\n  %i : int = aten::Int(%r)\n"
      "  %l : int[] = prim::ListConstruct(%i)\n  %z : Tensor = aten::zeros(%l, %none, %none, %none, %none)\n  return (%z)";
  EXPECT_EQ(output("f32[1,7]", body), "f32[3]");
  EXPECT_EQ(output("f32[1,w]", body), "f32[?]");
}

TEST(Contents, OfWhatIsWrittenAreForgotten) {
  const std::string body =
      "  %h : int = aten::size(%x, %one)\n  %t : Tensor = prim::NumToTensor(%h)\n  %w : Tensor = aten::add_(%t, %one, %one)\n"
      "  %i : int = aten::Int(%t)\n  %l : int[] = prim::ListConstruct(%i)\n  %z : Tensor = aten::zeros(%l, %none, %none, %none, "
      "%none)\n  return (%z)";
  EXPECT_EQ(output("f32[1,7]", body), "f32[?]");
}

TEST(Contents, ListsThatGrowHaveNoLength) {
  const std::string body =
      "  %l : int[] = prim::ListConstruct(%one)\n  %a : int[] = aten::append(%l, %two)\n  %n : int = aten::len(%l)\n"
      "  %s : int[] = prim::ListConstruct(%n)\n  %z : Tensor = aten::zeros(%s, %none, %none, %none, %none)\n  return (%z)";
  EXPECT_EQ(output("f32[1]", body), "f32[?]");
}

TEST(Contents, WhatAnInPlaceOperatorPromotesStays) {
  EXPECT_EQ(output("i64[3]", "  %r : Tensor = aten::mul_(%x, %two)\n  return (%r)"), "i64[3]");
  EXPECT_EQ(output("f16[3]", "  %r : Tensor = aten::add_(%x, %half, %one)\n  return (%r)"), "f16[3]");
}

}  // namespace
}  // namespace compatcheck::symbolic
