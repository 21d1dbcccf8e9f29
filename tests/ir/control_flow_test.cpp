#include "ir/control_flow.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ir/text.h"

namespace compatcheck::ir {
namespace {

constexpr const char* text = R"(graph(%n : int, %start : bool, %a : Tensor, %b : Tensor):
  %c : Tensor, %d : Tensor = prim::Loop(%n, %start, %a, %b)
    block0(%i : int, %p : Tensor, %q : Tensor):
      %go, %r : Tensor = prim::If(%start)
        block0():
          -> (%start, %p)
        block1():
          -> (%start, %q)
      -> (%go, %r, %p)
  return (%c, %d)
)";

class ControlFlow : public ::testing::Test {
 protected:
  std::string names(std::span<Value* const> values) {
    std::string all;
    for (const Value* value : values) all += value->name();
    return all;
  }
  Graph graph_ = parse_graph(text);
  Node* node_ = graph_.top()->first();
  LoopView loop_{*node_};
  Node* branch_ = loop_.body().first();
};

TEST_F(ControlFlow, NamesThePartsOfALoop) {
  EXPECT_EQ(loop_.trip_count()->name(), "n");
  EXPECT_EQ(loop_.condition()->name(), "start");
  EXPECT_EQ(loop_.iteration()->name(), "i");
  EXPECT_EQ(loop_.next_condition()->name(), "go");
  EXPECT_EQ(names(loop_.initial_values()), "ab");
  EXPECT_EQ(names(loop_.parameters()), "pq");
  EXPECT_EQ(names(loop_.next_values()), "rp");
  EXPECT_EQ(names(loop_.results()), "cd");
}

TEST_F(ControlFlow, NamesThePartsOfAnIf) {
  const IfView view(*branch_);
  EXPECT_EQ(view.condition()->name(), "start");
  EXPECT_EQ(names(view.then_values()), "startp");
  EXPECT_EQ(names(view.else_values()), "startq");
  EXPECT_EQ(&view.block_if(true), &view.then_block());
  EXPECT_EQ(&view.block_if(false), &view.else_block());
  EXPECT_NE(&view.then_block(), &view.else_block());
}

TEST_F(ControlFlow, FollowsACarriedValue) {
  const auto carried = carried_by(loop_.parameters()[1]);
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->place, 1u);
  EXPECT_EQ(names(std::array{carried->initial_value(), carried->parameter(), carried->next_value(), carried->result()}), "bqpd");
  EXPECT_FALSE(carried_by(loop_.iteration()));
  EXPECT_FALSE(carried_by(graph_.inputs()[2]));
  EXPECT_FALSE(carried_by(node_->output(1)));
  EXPECT_TRUE(is_iteration(loop_.iteration()));
  EXPECT_FALSE(is_iteration(loop_.parameters()[0]));
  EXPECT_FALSE(is_iteration(graph_.inputs()[0]));
}

TEST_F(ControlFlow, FindsTheResultsOfABlock) {
  EXPECT_EQ(names(returned_results(loop_.body())), "rp");
  EXPECT_EQ(names(returned_results(IfView(*branch_).else_block())), "startq");
  Node* end = loop_.body().return_node();
  EXPECT_EQ(returned_as({end, 0}), nullptr);  // the condition
  EXPECT_EQ(returned_as({end, 2}), node_->output(1));
  EXPECT_EQ(returned_as({IfView(*branch_).then_block().return_node(), 1}), branch_->output(1));
  EXPECT_EQ(returned_as({branch_, 0}), nullptr);
  EXPECT_EQ(returned_as({graph_.top()->return_node(), 0}), nullptr);
}

TEST_F(ControlFlow, ChangesALoop) {
  Value *a = graph_.inputs()[2], *b = graph_.inputs()[3];
  loop_.set_initial_value(1, a);
  loop_.set_next_value(0, b);
  loop_.set_trip_count(a);
  loop_.set_next_condition(loop_.condition());
  EXPECT_EQ(names(node_->inputs()), "astartaa");
  EXPECT_EQ(names(loop_.body().outputs()), "startbp");
  graph_.top()->erase_output(0);
  loop_.erase_next_value(1);
  IfView(*branch_).then_block().return_node()->replace_input(1, b);
  loop_.erase_parameter(0);
  loop_.erase_initial_value(0);
  node_->output(1)->replace_all_uses_with(a);
  node_->erase_output(1);
  graph_.verify();
  EXPECT_EQ(names(loop_.parameters()), "q");
  erase_returned_result(loop_.body(), 0);
  EXPECT_EQ(names(loop_.body().outputs()), "start");
  erase_returned_result(IfView(*branch_).then_block(), 0);
  EXPECT_EQ(names(IfView(*branch_).then_values()), "b");
}

}  // namespace
}  // namespace compatcheck::ir
