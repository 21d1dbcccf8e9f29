#include "passes/alias.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/text.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

ir::Value* value_named(const ir::Graph& graph, std::string_view name) {
  ir::Value* found = nullptr;
  for (ir::Value* input : graph.inputs())
    if (input->name() == name) found = input;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    for (ir::Value* output : node->outputs())
      if (output->name() == name) found = output;
    for (const ir::Block* block : node->blocks())
      for (ir::Value* input : block->inputs())
        if (input->name() == name) found = input;
  });
  return found;
}

// A graph with one write, to a tensor of its own, so that the analysis runs.
class AliasTest : public testing::Test {
 protected:
  void read(const std::string& inputs, const std::string& body, const std::string& outputs) {
    graph_ = ir::parse_graph("graph(" + inputs +
                             ", %other : Tensor):\n  %zero : int = prim::Constant[value=0]()\n  %own : "
                             "Tensor = aten::tanh(%other)\n  %written : Tensor = aten::zero_(%own)\n" +
                             body + "  return (" + outputs + ")\n");
    schema::resolve(graph_, registry_);
    aliases_.emplace(graph_, nullptr);
  }

  bool share(std::string_view a, std::string_view b) const {
    const auto reach_a = aliases_->reach(value_named(graph_, a));
    const auto reach_b = aliases_->reach(value_named(graph_, b));
    return std::any_of(reach_a.begin(), reach_a.end(),
                       [&](LocationId id) { return std::find(reach_b.begin(), reach_b.end(), id) != reach_b.end(); });
  }

  schema::Registry registry_;
  ir::Graph graph_;
  std::optional<Aliases> aliases_;
};

TEST_F(AliasTest, IsFoundAgainAfterAChange) {
  read("%x : Tensor", "  %y : Tensor = aten::relu(%x)\n", "%y");
  const auto first = Aliases::of(graph_, nullptr);
  EXPECT_EQ(Aliases::of(graph_, nullptr), first);
  const ir::Program other;
  EXPECT_NE(Aliases::of(graph_, &other), first);
  graph_.top()->add_output(graph_.inputs()[0]);
  EXPECT_NE(Aliases::of(graph_, nullptr), first);
}

// Lists in lists, a loop that puts them into each other, and a call that may hand on all that it is given.
TEST_F(AliasTest, ReachIsWhatContentsLeadTo) {
  read("%x : Tensor, %y : Tensor, %n : int, %g : Tensor[][]",
       "  %t : bool = prim::Constant[value=1]()\n"
       "  %a : Tensor[] = prim::ListConstruct(%x, %y)\n"
       "  %b : Tensor[] = prim::ListConstruct(%y)\n"
       "  %l : Tensor[][] = prim::ListConstruct(%a, %b)\n"
       "  %k : Any = acme::keep(%l, %x)\n"
       "  %p : (Any, Tensor[][]) = prim::TupleConstruct(%k, %g)\n"
       "  %r : Any = prim::Loop(%n, %t, %k)\n"
       "    block0(%i : int, %c : Any):\n"
       "      %d : Any = acme::keep(%c, %p)\n"
       "      %m : Tensor[] = aten::append(%b, %y)\n"
       "      -> (%t, %d)\n",
       "%r");
  for (const char* name : {"x", "y", "g", "a", "b", "l", "k", "p", "r", "c", "d", "m", "own", "zero"}) {
    const ir::Value* value = value_named(graph_, name);
    const auto own = aliases_->locations(value);
    std::set<LocationId> reached(own.begin(), own.end());
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const LocationId id : std::set<LocationId>(reached))
        reached.insert(aliases_->location(id).contents.begin(), aliases_->location(id).contents.end());
    }
    EXPECT_EQ(aliases_->reach(value), std::vector<LocationId>(reached.begin(), reached.end())) << name;
  }
}

// einsum of one tensor may view it; a product of several is new.
TEST_F(AliasTest, ProductsAreFresh) {
  read("%x : Tensor, %y : Tensor",
       "  %turn : str = prim::Constant[value=\"ij->ji\"]()\n"
       "  %sum : str = prim::Constant[value=\"ij,jk->ik\"]()\n"
       "  %none : NoneType = prim::Constant()\n"
       "  %one : Tensor[] = prim::ListConstruct(%x)\n"
       "  %both : Tensor[] = prim::ListConstruct(%x, %y)\n"
       "  %v : Tensor = aten::einsum(%turn, %one, %none)\n"
       "  %f : Tensor = aten::einsum(%sum, %both, %none)\n",
       "%v, %f");
  EXPECT_TRUE(share("x", "v"));
  EXPECT_FALSE(share("x", "f"));
  EXPECT_FALSE(share("y", "f"));
}

TEST_F(AliasTest, ViewsAndFreshTensors) {
  read("%x : Tensor, %s : int[]",
       "  %v : Tensor = aten::select(%x, %zero, %zero)\n"
       "  %w : Tensor = aten::reshape(%v, %s)\n"
       "  %f : Tensor = aten::relu(%w)\n",
       "%f");
  EXPECT_TRUE(share("x", "v"));
  EXPECT_TRUE(share("x", "w"));
  EXPECT_FALSE(share("f", "w"));
  EXPECT_TRUE(share("own", "written"));
  EXPECT_FALSE(share("x", "other"));
}

TEST_F(AliasTest, ListsHoldTheirItems) {
  read("%x : Tensor, %y : Tensor",
       "  %a : Tensor = aten::relu(%x)\n"
       "  %l : Tensor[] = prim::ListConstruct(%a, %y)\n"
       "  %i : Tensor = aten::__getitem__(%l, %zero)\n"
       "  %p : Tensor[] = aten::slice(%l, %zero, %zero, %zero)\n"
       "  %c : Tensor = aten::cat(%p, %zero)\n",
       "%i, %c");
  EXPECT_TRUE(share("i", "a"));
  EXPECT_TRUE(share("p", "y"));
  EXPECT_FALSE(share("a", "y"));
  EXPECT_FALSE(share("c", "l"));
}

TEST_F(AliasTest, PartsOfATensorAreViews) {
  read("%x : Tensor",
       "  %l : Tensor[] = aten::unbind(%x, %zero)\n"
       "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n",
       "%a, %b");
  EXPECT_TRUE(share("a", "x"));
  EXPECT_TRUE(share("b", "x"));
}

TEST_F(AliasTest, AppendKeepsWhatItIsGivenEvenBeforeInALoop) {
  read("%x : Tensor, %n : int",
       "  %t : bool = prim::Constant[value=1]()\n"
       "  %l : Tensor[] = prim::ListConstruct(%x)\n"
       "   = prim::Loop(%n, %t)\n"
       "    block0(%i : int):\n"
       "      %first : Tensor = aten::__getitem__(%l, %zero)\n"
       "      %a : Tensor = aten::relu(%x)\n"
       "      %m : Tensor[] = aten::append(%l, %a)\n"
       "      -> (%t)\n",
       "%l");
  EXPECT_TRUE(share("first", "a"));
}

TEST_F(AliasTest, BranchesAndLoopsJoin) {
  read("%x : Tensor, %y : Tensor, %c : bool, %n : int",
       "  %j : Tensor = prim::If(%c)\n"
       "    block0():\n"
       "      -> (%x)\n"
       "    block1():\n"
       "      %f : Tensor = aten::relu(%y)\n"
       "      -> (%f)\n"
       "  %k : Tensor = prim::Loop(%n, %c, %y)\n"
       "    block0(%i : int, %p : Tensor):\n"
       "      %q : Tensor = aten::exp(%p)\n"
       "      -> (%c, %q)\n",
       "%j, %k");
  EXPECT_TRUE(share("j", "x"));
  EXPECT_TRUE(share("j", "f"));
  EXPECT_FALSE(share("j", "y"));
  EXPECT_TRUE(share("k", "y"));
  EXPECT_TRUE(share("p", "q"));
}

// The schema of l += m states no alias.
TEST_F(AliasTest, AListThatIsAddedToIsTheResult) {
  read("%n : int, %more : int[]",
       "  %list : int[] = prim::ListConstruct(%n)\n"
       "  %same : int[] = aten::add_(%list, %more)\n"
       "  %new : int[] = aten::add(%list, %more)\n",
       "%same");
  EXPECT_TRUE(share("same", "list"));
  EXPECT_FALSE(share("new", "list"));
}

TEST_F(AliasTest, DropoutMayHandBackItsInput) {
  read("%x : Tensor, %p : float, %t : bool", "  %d : Tensor = aten::dropout(%x, %p, %t)\n", "%d");
  EXPECT_TRUE(share("d", "x"));
}

}  // namespace
}  // namespace compatcheck::passes
