// What is inferred of a graph's inputs. Weights are constants of which the text tells dtype and sizes.
#include "inference/infer.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace compatcheck::inference {
namespace {

using Given = std::vector<conversion::InputFact>;

struct Result {
  ir::Graph graph;
  Inferred inferred;

  // "x: f32[x0, 3] y: i64[x0]"
  std::string assumed() const {
    std::string text;
    for (const Assumption& each : inferred.assumptions)
      text += (text.empty() ? "" : " ") + each.leaf.name + ": " + symbolic::to_string(each.fact);
    return text;
  }
  // "aten::conv2d: f32; …" of the first assumption.
  std::string reasons() const {
    std::string text;
    for (const Reason& reason : inferred.assumptions.at(0).reasons)
      text += (text.empty() ? "" : "; ") + (reason.reader ? reason.reader->op() : "nobody") + ": " + reason.what;
    return text;
  }
};

// The body's inputs are `inputs`; weights are given as if the caller stated them.
Result infer_of(const std::string& inputs, const std::string& body, const Given& given = {}) {
  static const schema::Registry schemas;
  static const symbolic::Registry registry = symbolic::shipped_registry();
  static const mapping::Table table = mapping::Table::shipped();
  const ir::Watch watch;
  Result result{.graph = ir::parse_graph("graph(" + inputs + "):\n" + body + "\n"), .inferred = {}};
  schema::resolve(result.graph, schemas);
  conversion::FactTrials facts(result.graph, table, schemas, registry, nullptr, watch);
  facts.state(given);
  infer(result.graph, facts, given, {table, schemas, registry, watch}, result.inferred);
  return result;
}

// A convolution of %in to %out with a weight of 8×3×3×3.
std::string convolution(const std::string& in, const std::string& out) {
  return "  %" + out + "n : NoneType = prim::Constant()\n  %" + out + "o : int = prim::Constant[value=1]()\n  %" + out +
         "l : int[] = prim::ListConstruct(%" + out + "o, %" + out + "o)\n  %" + out + " : Tensor = aten::conv2d(%" + in +
         ", %w, %" + out + "n, %" + out + "l, %" + out + "l, %" + out + "l, %" + out + "o) # net.py:3:0\n";
}

constexpr const char* weight = ", %w : Float(8, 3, 3, 3, strides=[27, 9, 3, 1], device=cpu)";

TEST(Infer, AConvolutionDecidesDtypeRankAndChannels) {
  const auto result = infer_of(std::string("%x : Tensor") + weight, convolution("x", "y") + "  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 3, x2, x3]");
  EXPECT_EQ(result.reasons(), "aten::conv2d: f32; aten::conv2d: rank 4; aten::conv2d: 3 in dimension 1");
}

TEST(Infer, ReadersAreFoundBehindWhatKeepsOrTurnsTheShape) {
  const std::string head = std::string("%x : Tensor") + weight;
  const std::string permuted =
      "  %a : int = prim::Constant[value=0]()\n  %b : int = prim::Constant[value=3]()\n  %c : int = prim::Constant[value=1]()\n"
      "  %d : int = prim::Constant[value=2]()\n  %l : int[] = prim::ListConstruct(%a, %b, %c, %d)\n"
      "  %r : Tensor = aten::relu(%x)\n  %p : Tensor = aten::permute(%r, %l)\n";
  EXPECT_EQ(infer_of(head, permuted + convolution("p", "y") + "  return (%y)").assumed(), "x: f32[x0, x1, x2, 3]");
}

TEST(Infer, AnOperandIsLikeTheOther) {
  const std::string sum =
      "  %one : int = prim::Constant[value=1]()\n  %s : Tensor = aten::add(%x, %z, %one)\n" + convolution("x", "y");
  EXPECT_EQ(infer_of(std::string("%x : Tensor, %z : Tensor") + weight, sum + "  return (%s, %y)").assumed(),
            "x: f32[x0, 3, x2, x3] z: f32[x0, 3, x2, x3]");
}

TEST(Infer, TheFirstIterationOfALoopDecidesSizes) {
  const auto result = infer_of("%x : Tensor, %n : int",
                               "  %f : NoneType = prim::Constant()\n  %one : int = prim::Constant[value=1]()\n"
                               "  %t : bool = prim::Constant[value=1]()\n  %h : int = aten::size(%x, %one)\n"
                               "  %eye : Tensor = aten::eye(%h, %f, %f, %f, %f)\n"
                               "  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %c : Tensor):\n"
                               "      %p : Tensor = aten::matmul(%eye, %c)\n      %s : Tensor = aten::sub(%eye, %p, %one)\n"
                               "      %m : Tensor = aten::mul(%c, %s)\n      -> (%t, %m)\n  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x0]");
}

TEST(Infer, AMemberOfATupleBeginsWhereItIsRead) {
  const std::string body =
      "  %zero : int = prim::Constant[value=0]()\n  %one : int = prim::Constant[value=1]()\n"
      "  %a : Tensor = prim::TupleIndex(%p, %zero)\n  %b : Tensor = prim::TupleIndex(%p, %one)\n"
      "  %m : Tensor = aten::mul(%a, %b)\n  %s : Tensor = aten::add(%x, %m, %one)\n";
  const auto result = infer_of("%x : Tensor, %p : (Tensor, Tensor)", body + "  return (%s)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1] p.0: f32[x0, x1] p.1: f32[x0, x1]");
}

TEST(Infer, AMemberOfATupleIsLikeTheOther) {
  const auto result = infer_of(std::string("%p : (Tensor, Tensor)") + weight,
                               "  %zero : int = prim::Constant[value=0]()\n  %one : int = prim::Constant[value=1]()\n"
                               "  %a : Tensor = prim::TupleIndex(%p, %zero)\n  %b : Tensor = prim::TupleIndex(%p, %one)\n" +
                                   convolution("b", "y") + "  %m : Tensor = aten::mul(%a, %b)\n  return (%m, %y)");
  EXPECT_EQ(result.assumed(), "p.1: f32[p_0_0, 3, p_0_2, p_0_3] p.0: f32[p_0_0, 3, p_0_2, p_0_3]");
}

TEST(Infer, IndicesAreIntegers) {
  const auto result = infer_of("%i : Tensor, %w : Float(50, 8, strides=[8, 1], device=cpu)",
                               "  %m : int = prim::Constant[value=-1]()\n  %f : bool = prim::Constant[value=0]()\n"
                               "  %y : Tensor = aten::embedding(%w, %i, %m, %f, %f)\n  %z : int = prim::Constant[value=0]()\n"
                               "  %o : int = prim::Constant[value=1]()\n  %t : Tensor = aten::transpose(%y, %z, %o)\n"
                               "  %s : int[] = aten::size(%t)\n  %a : int, %b : int, %c : int = prim::ListUnpack(%s)\n"
                               "  %n : Tensor = aten::add(%y, %c, %o)\n  return (%n)");
  EXPECT_EQ(result.assumed(), "i: i64[i0, i1]");
}

TEST(Infer, MasksAreBool) {
  const auto result = infer_of("%m : Tensor, %x : Float(2, 3, strides=[3, 1], device=cpu)",
                               "  %v : float = prim::Constant[value=0.5]()\n  %n : Tensor = aten::bitwise_not(%m)\n"
                               "  %y : Tensor = aten::masked_fill(%x, %n, %v)\n  return (%y)");
  EXPECT_EQ(result.assumed(), "m: bool[2, 3]");
}

TEST(Infer, WhatNoReaderDecidesIsAFloatOfTwoDimensions) {
  const auto result = infer_of("%x : Tensor", "  %y : Tensor = aten::sigmoid(%x)\n  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1]");
  EXPECT_EQ(result.reasons(), "nobody: f32; nobody: rank 2");
  EXPECT_TRUE(result.inferred.assumptions[0].open_rank);
}

TEST(Infer, AReaderOfSeveralRanksLeavesTheRankOpen) {
  const auto result = infer_of("%x : Tensor",
                               "  %n : int = prim::Constant[value=2]()\n  %d : int = prim::Constant[value=0]()\n"
                               "  %y : Tensor[] = aten::chunk(%x, %n, %d)\n  %a : Tensor, %b : Tensor = prim::ListUnpack(%y)\n"
                               "  return (%a)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1]");
  EXPECT_TRUE(result.inferred.assumptions[0].open_rank);
}

TEST(Infer, AnAssertionDecidesRankAndSize) {
  const auto result = infer_of(
      "%x : Tensor",
      "  %r : int = aten::dim(%x)\n  %t : int = prim::Constant[value=3]()\n  %m : str = prim::Constant[value=\"m\"]()\n"
      "  %c : bool = aten::ne(%r, %t)\n  = prim::If(%c)\n    block0():\n      = prim::RaiseException(%m, %m)\n      -> ()\n"
      "    block1():\n      -> ()\n  %o : int = prim::Constant[value=1]()\n  %s : int = aten::size(%x, %o)\n"
      "  %e : bool = aten::eq(%s, %t)\n  = prim::If(%e)\n    block0():\n      -> ()\n    block1():\n"
      "      = prim::RaiseException(%m, %m)\n      -> ()\n  %y : Tensor = aten::sigmoid(%x)\n  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 3, x2]");
}

TEST(Infer, MultiplesOfAStrideAreNoSize) {
  // A U-Net: what is pooled and made twice as large again lies beside what was there before.
  const std::string body =
      "  %z : int = prim::Constant[value=0]()\n  %o : int = prim::Constant[value=1]()\n  %t : int = prim::Constant[value=2]()\n"
      "  %k : int[] = prim::ListConstruct(%t, %t)\n  %p : int[] = prim::ListConstruct(%z, %z)\n"
      "  %d : int[] = prim::ListConstruct(%o, %o)\n  %f : bool = prim::Constant[value=0]()\n"
      "  %a : Tensor = aten::max_pool2d(%y, %k, %k, %p, %d, %f)\n  %s : float = prim::Constant[value=2.]()\n"
      "  %l : float[] = prim::ListConstruct(%s, %s)\n  %n : NoneType = prim::Constant()\n"
      "  %u : Tensor = aten::upsample_nearest2d(%a, %n, %l)\n  %m : Tensor[] = prim::ListConstruct(%u, %y)\n"
      "  %c : Tensor = aten::cat(%m, %o)\n  return (%c)";
  const std::string padded =
      "  %yn : NoneType = prim::Constant()\n  %yo : int = prim::Constant[value=1]()\n"
      "  %yl : int[] = prim::ListConstruct(%yo, %yo)\n"
      "  %y : Tensor = aten::conv2d(%x, %w, %yn, %yl, %yl, %yl, %yo)\n";
  EXPECT_EQ(infer_of(std::string("%x : Tensor") + weight, padded + body).assumed(), "x: f32[x0, 3, x2, x3]");
}

TEST(Infer, OfSizesThatAStrideRoundsDownToOneTheRoundestIsChosen) {
  // One 8×8 window every 8: 31 to 38 would all do for 4 rows of 8.
  const auto result =
      infer_of("%x : Tensor, %w : Float(2, 1, 8, strides=[8, 8, 1], device=cpu), %l : Float(5, 8, strides=[8, 1], device=cpu)",
               "  %z : int = prim::Constant[value=0]()\n  %o : int = prim::Constant[value=1]()\n"
               "  %g : int = prim::Constant[value=8]()\n  %k : int[] = prim::ListConstruct(%g)\n"
               "  %p : int[] = prim::ListConstruct(%z)\n  %d : int[] = prim::ListConstruct(%o)\n"
               "  %n : NoneType = prim::Constant()\n  %e : int = prim::Constant[value=-1]()\n"
               "  %c : Tensor = aten::conv1d(%x, %w, %n, %k, %p, %d, %o)\n"
               "  %f : Tensor = aten::flatten(%c, %o, %e)\n  %y : Tensor = aten::linear(%f, %l, %n)\n"
               "  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 1, 32]");
}

TEST(Infer, BitsBesideANumberAreAnIntegers) {
  EXPECT_EQ(
      infer_of("%x : Tensor", "  %o : int = prim::Constant[value=1]()\n  %y : Tensor = aten::__and__(%x, %o)\n  return (%y)")
          .assumed(),
      "x: i64[x0, x1]");
}

TEST(Infer, MembersOfAListHaveTheSizesThatReadersDemand) {
  const auto result = infer_of(
      std::string("%x : Tensor[]") + weight,
      "  %z : int = prim::Constant[value=0]()\n  %s : Tensor = aten::stack(%x, %z)\n" + convolution("s", "y") + "  return (%y)");
  EXPECT_EQ(symbolic::to_string(result.inferred.assumptions.at(0).fact), "f32[3, ?, ?]");
}

TEST(Infer, ReadersThatDisagreeDecideNothing) {
  const auto result = infer_of(std::string("%x : Tensor") + weight + ", %e : Float(50, 8, strides=[8, 1], device=cpu)",
                               "  %m : int = prim::Constant[value=-1]()\n  %f : bool = prim::Constant[value=0]()\n"
                               "  %z : Tensor = aten::embedding(%e, %x, %m, %f, %f)\n" +
                                   convolution("x", "y") + "  return (%y, %z)");
  EXPECT_EQ(result.assumed(), "x: ?[x0, 3, x2, x3]");
}

TEST(Infer, AReaderThatMayNotRunYieldsToOneThatDoes) {
  const auto result = infer_of(
      std::string("%x : Tensor, %c : bool") + weight + ", %e : Float(50, 8, strides=[8, 1], device=cpu)",
      convolution("x", "y") +
          "  %r : Tensor = prim::If(%c)\n    block0():\n      %m : int = prim::Constant[value=-1]()\n"
          "      %f : bool = prim::Constant[value=0]()\n      %z : Tensor = aten::embedding(%e, %x, %m, %f, %f)\n      -> (%z)\n"
          "    block1():\n      -> (%y)\n  return (%r)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 3, x2, x3]");
}

TEST(Infer, WhatIsGivenStays) {
  const Given given{{"x", {.value = symbolic::TensorFact{.dtype = ir::DType::f64, .shape = symbolic::Shape{2, 3}}}}};
  EXPECT_EQ(infer_of("%x : Tensor", "  %y : Tensor = aten::relu(%x)\n  return (%y)", given).assumed(), "");
}

TEST(Infer, MembersOfTuplesAreInputsByThemselves) {
  const auto result = infer_of("%p : (Tensor, Tensor), %w : Float(4, 6, strides=[6, 1], device=cpu)",
                               "  %a : Tensor, %b : Tensor = prim::TupleUnpack(%p)\n  %n : NoneType = prim::Constant()\n"
                               "  %y : Tensor = aten::linear(%a, %w, %n)\n  %o : int = prim::Constant[value=1]()\n"
                               "  %z : Tensor = aten::add(%b, %y, %o)\n  return (%z)");
  EXPECT_EQ(result.assumed(), "p.0: f32[p_0_0, 6] p.1: f32[p_0_0, 4]");
}

TEST(Infer, AClassifierDecidesThePicturesSides) {
  // 3×3 windows of a picture, flattened: 8·(side−2)² = 1152.
  const auto result = infer_of(std::string("%x : Tensor") + weight + ", %l : Float(5, 1152, strides=[1152, 1], device=cpu)",
                               "  %z : int = prim::Constant[value=0]()\n  %o : int = prim::Constant[value=1]()\n"
                               "  %k : int[] = prim::ListConstruct(%z, %z)\n  %s : int[] = prim::ListConstruct(%o, %o)\n"
                               "  %n : NoneType = prim::Constant()\n  %e : int = prim::Constant[value=-1]()\n"
                               "  %c : Tensor = aten::conv2d(%x, %w, %n, %s, %k, %s, %o)\n"
                               "  %f : Tensor = aten::flatten(%c, %o, %e)\n  %y : Tensor = aten::linear(%f, %l, %n)\n"
                               "  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 3, 14, 14]");
}

TEST(Infer, ChannelsAreNoSideOfAPicture) {
  // 1000 is 10·10·10, too.
  const auto result = infer_of("%x : Tensor, %l : Float(5, 1000, strides=[1000, 1], device=cpu)",
                               "  %o : int = prim::Constant[value=1]()\n  %t : int = prim::Constant[value=2]()\n"
                               "  %h : int = prim::Constant[value=3]()\n  %e : int = prim::Constant[value=-1]()\n"
                               "  %n : NoneType = prim::Constant()\n  %s : Tensor = aten::transpose(%x, %t, %h)\n"
                               "  %f : Tensor = aten::flatten(%s, %o, %e)\n  %y : Tensor = aten::linear(%f, %l, %n)\n"
                               "  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1, x2, x3]");
}

TEST(Infer, ADimensionThatIsReadIsThere) {
  const std::string one = "  %o : int = prim::Constant[value=1]()\n  %t : int = prim::Constant[value=2]()\n";
  EXPECT_EQ(infer_of("%x : Tensor", one + "  %y : Tensor = aten::transpose(%x, %o, %t)\n  return (%y)").assumed(),
            "x: f32[x0, x1, x2]");
  EXPECT_EQ(infer_of("%x : Tensor", one + "  %y : Tensor = aten::unsqueeze(%x, %t)\n  return (%y)").assumed(), "x: f32[x0, x1]");
}

TEST(Infer, AMaskOfOneDimensionLessDecidesTheRank) {
  // A rank of 2 would do where the mask has more dimensions than x.
  const auto result = infer_of("%x : Tensor, %m : Tensor",
                               "  %o : int = prim::Constant[value=1]()\n  %t : int = prim::Constant[value=2]()\n"
                               "  %e : int = prim::Constant[value=-1]()\n  %v : float = prim::Constant[value=0.]()\n"
                               "  %u : Tensor = aten::unsqueeze(%m, %e)\n  %f : Tensor = aten::masked_fill(%x, %u, %v)\n"
                               "  %y : Tensor = aten::transpose(%f, %o, %t)\n  return (%y)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1, x2] m: bool[x0, x1]");
}

TEST(Infer, OfRanksThatAListAllowsTheOneWithABatchIsChosen) {
  // if x.dim() not in (3, 4): raise; x.dim() == 3 is asked for, too
  const auto result = infer_of(
      "%x : Tensor",
      "  %a : int = prim::Constant[value=3]()\n  %b : int = prim::Constant[value=4]()\n"
      "  %m : str = prim::Constant[value=\"m\"]()\n  %r : int = aten::dim(%x)\n"
      "  %l : int[] = prim::ListConstruct(%a, %b)\n  %i : bool = aten::__contains__(%l, %r)\n"
      "  %c : bool = aten::__not__(%i)\n  = prim::If(%c)\n    block0():\n      = prim::RaiseException(%m, %m)\n      -> ()\n"
      "    block1():\n      -> ()\n  %q : bool = aten::eq(%r, %a)\n  %z : Tensor = prim::If(%q)\n    block0():\n"
      "      %s : Tensor = aten::sigmoid(%x)\n      -> (%s)\n    block1():\n      %t : Tensor = aten::tanh(%x)\n      -> (%t)\n"
      "  return (%z)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, x1, x2, x3]");
}

TEST(Infer, UnpackedListsHaveAsManyMembers) {
  const auto result = infer_of("%x : Tensor",
                               "  %e : int = prim::Constant[value=-1]()\n  %l : Tensor[] = aten::unbind(%x, %e)\n"
                               "  %a : Tensor, %b : Tensor, %c : Tensor = prim::ListUnpack(%l)\n  return (%a, %b, %c)");
  EXPECT_EQ(result.assumed(), "x: f32[x0, 3]");
}

TEST(Spell, AsInputSaysIt) {
  EXPECT_EQ(spell({.dtype = ir::DType::f16, .shape = symbolic::Shape{symbolic::Dim::symbol("n"), 3}}), "f16:n,3");
  EXPECT_EQ(spell({.dtype = ir::DType::i64, .shape = symbolic::Shape{}}), "i64:scalar");
}

}  // namespace
}  // namespace compatcheck::inference
