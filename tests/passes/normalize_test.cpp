#include "passes/normalize.h"

#include <gmock/gmock.h>

#include <set>

#include "ir/text.h"

namespace compatcheck::passes {
namespace {

std::multiset<std::string> operators(const ir::Graph& graph) {
  std::multiset<std::string> found;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (!node->is("prim::Constant")) found.insert(node->op());
  });
  return found;
}

// Nodes point into it.
const schema::Registry& schemas() {
  static const schema::Registry shipped;
  return shipped;
}

Normalized normalized(const std::string& text) {
  NormalizeOptions options;
  options.verify_between = true;
  return normalize(ir::parse_graph(text), schemas(), options);
}

TEST(Normalize, TheLoopOfAScriptedBatchNormGoes) {
  const Normalized result = normalized(
      "graph(%x : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %m : str = prim::Constant[value=\"expected more than 1 value\"]()\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %2 : int = prim::Constant[value=2]()\n"
      "  %s : int[] = aten::size(%x)\n"
      "  %first : int = aten::__getitem__(%s, %0)\n"
      "  %len : int = aten::len(%s)\n"
      "  %rest : int = aten::sub(%len, %2)\n"
      "  %n : int = prim::Loop(%rest, %t, %first)\n"
      "    block0(%i : int, %p : int):\n"
      "      %j : int = aten::add(%i, %2)\n"
      "      %e : int = aten::__getitem__(%s, %j)\n"
      "      %q : int = aten::mul(%p, %e)\n"
      "      -> (%t, %q)\n"
      "  %c : bool = aten::eq(%n, %1)\n"
      "   = prim::If(%c)\n"
      "    block0():\n"
      "       = prim::RaiseException(%m, %m)\n"
      "      -> ()\n"
      "    block1():\n"
      "      -> ()\n"
      "  %y : Tensor = aten::relu(%x)\n"
      "  return (%y)\n");
  EXPECT_EQ(operators(result.graph), (std::multiset<std::string>{"aten::relu"}));
  EXPECT_EQ(result.steps, (std::vector<std::string>{"dropped 1 assertion"}));
}

TEST(Normalize, AListFilledInALoopOfKnownLength) {
  const Normalized result = normalized(
      "graph(%x : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %n : int = prim::Constant[value=3]()\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %l : Tensor[] = prim::ListConstruct()\n"
      "   = prim::Loop(%n, %t)\n"
      "    block0(%i : int):\n"
      "      %s : Tensor = aten::select(%x, %1, %i)\n"
      "      %r : Tensor = aten::relu(%s)\n"
      "      %a : Tensor[] = aten::append(%l, %r)\n"
      "      -> (%t)\n"
      "  %y : Tensor = aten::stack(%l, %0)\n"
      "  return (%y)\n");
  EXPECT_EQ(operators(result.graph),
            (std::multiset<std::string>{"aten::relu", "aten::relu", "aten::relu", "aten::select", "aten::select", "aten::select",
                                        "aten::stack", "prim::ListConstruct"}));
  EXPECT_TRUE(result.unresolved_writes.empty());
  EXPECT_EQ(result.steps,
            (std::vector<std::string>{"unrolled 1 loop", "followed 4 uses of lists, dictionaries, tuples and objects"}));
}

TEST(Normalize, ADictWalkedOverByItsItems) {
  const Normalized result = normalized(
      "graph(%x : Tensor, %y : Tensor):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %u : str = prim::Constant[value=\"u\"]()\n"
      "  %v : str = prim::Constant[value=\"v\"]()\n"
      "  %d : Dict(str, Tensor) = prim::DictConstruct(%u, %x, %v, %y)\n"
      "  %items : (str, Tensor)[] = aten::items(%d)\n"
      "  %n : int = aten::len(%items)\n"
      "  %s : Tensor = prim::Loop(%n, %t, %x)\n"
      "    block0(%i : int, %p : Tensor):\n"
      "      %e : (str, Tensor) = aten::__getitem__(%items, %i)\n"
      "      %k : str, %w : Tensor = prim::TupleUnpack(%e)\n"
      "      %q : Tensor = aten::add(%p, %w, %1)\n"
      "      -> (%t, %q)\n"
      "  return (%s)\n");
  EXPECT_EQ(operators(result.graph), (std::multiset<std::string>{"aten::add", "aten::add"}));
}

std::string why(const std::string& text) {
  const Normalized result = normalized(text);
  return result.unresolved_writes.size() == 1 ? result.unresolved_writes[0].why
                                              : std::to_string(result.unresolved_writes.size()) + " writes";
}

TEST(Normalize, WritesThatStayAreReported) {
  const std::string constants =
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %t : bool = prim::Constant[value=1]()\n";
  EXPECT_EQ(why("graph(%x : Tensor):\n" + constants +
                "  %a : Tensor = aten::tanh(%x)\n"
                "  %v : Tensor = aten::contiguous(%a, %0)\n"
                "  %w : Tensor = aten::add_(%v, %1, %1)\n"
                "  return (%a)\n"),
            "writes to `v`, which may or may not share memory with `a`");
  EXPECT_EQ(why("graph(%x : Tensor, %s : int[]):\n" + constants +
                "  %a : Tensor = aten::tanh(%x)\n"
                "  %v : Tensor = aten::expand(%a, %s, %t)\n"
                "  %w : Tensor = aten::add_(%v, %1, %1)\n"
                "  return (%a)\n"),
            "writes to `v`, which is an expanded view, whose elements share memory");
  EXPECT_EQ(why("graph(%x : Tensor, %m : Tensor):\n" + constants +
                "  %a : Tensor = aten::tanh(%x)\n"
                "  %b : Tensor = aten::contiguous(%a, %0)\n"
                "  %w : Tensor = aten::set_(%b, %m)\n"
                "  return (%a)\n"),
            "has no form that leaves its argument as it is");
  EXPECT_EQ(why("graph(%x : Tensor, %n : int):\n" + constants +
                "  %l : Tensor[] = prim::ListConstruct(%x, %x)\n"
                "  %a : Tensor = aten::tanh(%x)\n"
                "  %m : Tensor[] = aten::remove(%l, %a)\n"
                "  %y : Tensor = aten::stack(%l, %0)\n"
                "  return (%y)\n"),
            "changes the list `l` in a way that no expression of lists gives");
  EXPECT_EQ(why("graph(%x : Tensor, %c : bool):\n" + constants +
                "  %a : Tensor = aten::tanh(%x)\n"
                "  %b : Tensor = aten::exp(%x)\n"
                "  %e : Tensor = prim::If(%c)\n"
                "    block0():\n"
                "      -> (%a)\n"
                "    block1():\n"
                "      -> (%b)\n"
                "  %w : Tensor = aten::add_(%e, %1, %1)\n"
                "  return (%a, %e)\n"),
            "writes to `e`, which may or may not share memory with `a`");
}

TEST(Normalize, WritesToInputsAreReported) {
  const Normalized result = normalized(
      "graph(%x : Tensor, %y : Tensor):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %v : Tensor = aten::select(%x, %0, %0)\n"
      "  %w : Tensor = aten::relu_(%v)\n"
      "  %z : Tensor = aten::mul(%x, %y)\n"
      "  return (%z)\n");
  EXPECT_TRUE(result.unresolved_writes.empty());
  ASSERT_EQ(result.lost_writes.size(), 1);
  EXPECT_EQ(result.lost_writes[0].name, "x");
  EXPECT_EQ(result.lost_writes[0].op, "aten::relu_");
}

TEST(Normalize, SimplifyUsesWhatBecameKnown) {
  Normalized result = normalized(
      "graph(%x : Tensor):\n"
      "  %4 : int = prim::Constant[value=4]()\n"
      "  %d : int = aten::dim(%x)\n"
      "  %c : bool = aten::eq(%d, %4)\n"
      "  %y : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      %a : Tensor = aten::relu(%x)\n"
      "      -> (%a)\n"
      "    block1():\n"
      "      %b : Tensor = aten::neg(%x)\n"
      "      -> (%b)\n"
      "  return (%y)\n");
  EXPECT_EQ(operators(result.graph).count("prim::If"), 1u);
  EXPECT_TRUE(simplify(result.graph, schemas(), [](const ir::Value& value) -> std::optional<ir::Constant> {
    if (value.producer() && value.producer()->is("aten::dim")) return ir::Constant{std::int64_t{4}};
    return std::nullopt;
  }));
  EXPECT_EQ(operators(result.graph), (std::multiset<std::string>{"aten::relu"}));
}

}  // namespace
}  // namespace compatcheck::passes
