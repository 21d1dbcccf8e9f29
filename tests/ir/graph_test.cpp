#include "ir/graph.h"

#include <gtest/gtest.h>

#include <functional>

#include "compatcheck/error.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

constexpr const char* loop = R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %carried : Tensor):
      %next : Tensor = aten::add(%carried, %x, %one)
      %go : bool = aten::lt(%i, %n)
      %out : Tensor = prim::If(%go)
        block0():
          -> (%next)
        block1():
          %neg : Tensor = aten::neg(%next)
          -> (%neg)
      -> (%go, %out)
  return (%y)
)";

Node* find(const Graph& graph, std::string_view op) {
  Node* found = nullptr;
  for_each_node(*graph.top(), [&](Node* node) {
    if (node->is(op)) found = node;
  });
  return found;
}

TEST(Graph, KnowsUsesOwnersAndBlocks) {
  const Graph graph = parse_graph(loop);
  graph.verify();
  Value* x = graph.inputs()[0];
  EXPECT_EQ(x->uses().size(), 2u);
  Node* add = find(graph, "aten::add");
  EXPECT_EQ(add->owner()->owner(), find(graph, "prim::Loop"));
  EXPECT_EQ(add->owner()->parent(), graph.top());
  EXPECT_EQ(add->output()->uses()[0].user, find(graph, "prim::If")->blocks()[0]->return_node());
  EXPECT_EQ(add->next(), find(graph, "aten::lt"));
  EXPECT_EQ(constant_of(add->input(2))->get<std::int64_t>()[0], 1);
  EXPECT_EQ(constant_of(x), nullptr);
}

TEST(Graph, OperandsOfOneValueKeepTheirPlaces) {
  Graph graph = parse_graph("graph(%a : Tensor, %b : Tensor):\n  %c : Tensor = acme::f(%a, %a, %b, %a)\n  return (%c)");
  Node* node = graph.top()->first();
  Value *a = graph.inputs()[0], *b = graph.inputs()[1];
  node->erase_input(1);
  graph.verify();
  node->replace_input(2, b);
  graph.verify();
  EXPECT_EQ(print(*node), "%c : Tensor = acme::f(%a, %b, %b)");
  a->replace_all_uses_with(b);
  graph.verify();
  EXPECT_TRUE(a->unused());
  graph.top()->erase_input(0);
  EXPECT_EQ(b->index(), 0u);
  graph.verify();
}

TEST(Graph, NodesMoveBetweenBlocks) {
  Graph graph = parse_graph(loop);
  Node* neg = find(graph, "aten::neg");
  neg->move_before(neg->owner()->owner());
  graph.verify();
  EXPECT_EQ(neg->output()->block(), neg->owner());
  Node* relu = graph.create("aten::relu", std::vector<Value*>{graph.inputs()[0]}, 1);
  relu->insert_before(graph.top()->return_node());
  EXPECT_EQ(graph.top()->last(), relu);
  graph.top()->return_node()->replace_input(0, relu->output());
  graph.verify();
  find(graph, "prim::Loop")->erase();
  graph.verify();
  EXPECT_EQ(print(graph, {.locations = false}).find("prim::Loop"), std::string::npos);
}

TEST(Graph, IterationSurvivesErasing) {
  Graph graph = parse_graph(loop);
  std::vector<Node*> dead;
  for (int i = 0; i < 4; ++i) graph.top()->append(graph.create("acme::f", {}, 1));
  int visited = 0;
  for (Node* node : *graph.top()) {
    ++visited;
    if (!node->is("acme::f")) continue;
    if (node->next()) node->next()->erase();  // the one after the current
    node->erase();                            // and the current
  }
  EXPECT_EQ(visited, 3 + 2);
  graph.verify();
}

TEST(Graph, CloneKeepsNumbersAndNames) {
  const Graph graph = parse_graph(loop);
  const Graph copy = graph.clone();
  copy.verify();
  EXPECT_EQ(print(copy), print(graph));
  EXPECT_EQ(copy.value_limit(), graph.value_limit());
  EXPECT_EQ(find(copy, "aten::neg")->output()->id(), find(graph, "aten::neg")->output()->id());
}

TEST(Graph, MovedGraphOwnsItsNodes) {
  Graph graph = parse_graph(loop);
  Node* add = find(graph, "aten::add");
  Graph moved = std::move(graph);
  EXPECT_EQ(add->graph(), &moved);
  EXPECT_EQ(add->owner()->graph(), &moved);
  Graph assigned;
  assigned = std::move(moved);
  EXPECT_EQ(add->graph(), &assigned);
  add->add_output(tensor_type());
  assigned.verify();
}

TEST(Graph, CopiesABlockIntoAnother) {
  Graph graph = parse_graph(loop);
  Node* node = find(graph, "prim::Loop");
  Value *one = find(graph, "aten::add")->input(2), *x = graph.inputs()[0];
  const auto outputs = graph.copy_block_contents(*node->blocks()[0], std::vector<Value*>{one, x}, graph.top(), node);
  graph.verify();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1]->producer()->op(), "prim::If");
  EXPECT_EQ(outputs[1]->block(), graph.top());
  node->output()->replace_all_uses_with(outputs[1]);
  EXPECT_THROW(graph.copy_block_contents(*node->blocks()[0], {}, graph.top(), nullptr), InternalError);
  node->erase();
  graph.verify();
  parse_graph(print(graph)).verify();
}

TEST(Graph, CopiesShareAttributesUntilOneSetsAnother) {
  Graph graph = parse_graph(loop);
  Node* constant = find(graph, "prim::Constant");
  Node* copy = graph.copy_node(*constant);
  copy->set_attribute("value", {std::int64_t{7}});
  copy->set_op("prim::Other");
  EXPECT_EQ(*copy->attribute("value")->get<std::int64_t>(), 7);
  EXPECT_EQ(*constant->attribute("value")->get<std::int64_t>(), 1);
  EXPECT_TRUE(constant->is("prim::Constant"));
}

TEST(Graph, WhatIsAssignedOutlivesItsSource) {
  Graph graph = parse_graph(loop);
  {
    Graph other = graph.clone();
    Graph third = graph.clone();
    graph = std::move(other);
    other = std::move(third);
    other.verify();
  }
  graph.verify();
  EXPECT_EQ(print(graph), print(parse_graph(loop)));
}

// Whatever is done to the graph, an analysis of it isn't kept.
TEST(Graph, AnalysisIsDroppedByEveryChange) {
  const auto dropped_by = [](const std::function<void(Graph&)>& change) {
    Graph graph = parse_graph(loop);
    graph.keep(std::make_shared<const Analysis>());
    change(graph);
    return graph.analysis() == nullptr;
  };
  EXPECT_FALSE(dropped_by([](Graph& graph) { graph.clone(); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->set_op("aten::abs"); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->add_input(graph.inputs()[0]); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->replace_input(0, graph.inputs()[0]); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::add")->erase_input(2); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->add_output(tensor_type()); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->set_attribute("inplace", {true}); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::lt")->move_before(find(graph, "aten::add")); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { find(graph, "aten::neg")->output()->set_type(nullptr); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { graph.inputs()[0]->replace_all_uses_with(find(graph, "aten::add")->input(2)); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { graph.top()->add_input(tensor_type()); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { graph.top()->add_output(graph.inputs()[0]); }));
  EXPECT_TRUE(dropped_by([](Graph& graph) { graph.top()->append(graph.create("aten::relu")); }));
}

TEST(Graph, VerifyNamesWhatIsBroken) {
  const auto fault = [](Graph& graph) -> std::string {
    try {
      graph.verify();
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  Graph order = parse_graph(loop);
  find(order, "prim::Loop")->move_before(order.top()->first());
  EXPECT_NE(fault(order).find("%true is used where it isn't defined, at %y : Tensor = prim::Loop"), std::string::npos)
      << fault(order);

  Graph scope = parse_graph(loop);
  scope.top()->return_node()->replace_input(0, find(scope, "aten::neg")->output());
  EXPECT_NE(fault(scope).find("%neg is used where it isn't defined"), std::string::npos) << fault(scope);

  Graph arity = parse_graph(loop);
  find(arity, "prim::If")->blocks()[0]->erase_output(0);
  EXPECT_NE(fault(arity).find("returns another number of values"), std::string::npos) << fault(arity);

  Graph astray = parse_graph(loop);
  astray.create("aten::relu", std::vector<Value*>{astray.inputs()[0]}, 1);
  EXPECT_NE(fault(astray).find("%x is used by a node that stands nowhere"), std::string::npos) << fault(astray);
}

TEST(Graph, RefusesToEraseWhatIsUsed) {
  Graph graph = parse_graph(loop);
  EXPECT_THROW(find(graph, "aten::add")->erase(), InternalError);
  EXPECT_THROW(find(graph, "prim::Loop")->erase_output(0), InternalError);
  EXPECT_THROW(graph.top()->erase_input(0), InternalError);
}

}  // namespace
}  // namespace compatcheck::ir
