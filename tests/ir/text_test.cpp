#include "ir/text.h"

#include <gtest/gtest.h>

#include "ir/sample_graphs.h"

namespace compatcheck::ir {
namespace {

// What a graph is, apart from its text.
void expect_same(const Block& a, const Block& b) {
  ASSERT_EQ(a.inputs().size(), b.inputs().size());
  for (std::size_t i = 0; i < a.inputs().size(); ++i) EXPECT_TRUE(equal(*a.inputs()[i]->type(), *b.inputs()[i]->type()));
  const Node *x = a.first(), *y = b.first();
  for (; x && y; x = x->next(), y = y->next()) {
    SCOPED_TRACE(print(*x));
    EXPECT_EQ(x->op(), y->op());
    EXPECT_EQ(x->module(), y->module());
    ASSERT_EQ(x->inputs().size(), y->inputs().size());
    for (std::size_t i = 0; i < x->inputs().size(); ++i) EXPECT_EQ(x->input(i)->index(), y->input(i)->index());
    ASSERT_EQ(x->outputs().size(), y->outputs().size());
    for (std::size_t i = 0; i < x->outputs().size(); ++i) {
      EXPECT_EQ(x->output(i)->name(), y->output(i)->name());
      EXPECT_TRUE(equal(*x->output(i)->type(), *y->output(i)->type()));
    }
    ASSERT_EQ(x->attributes().size(), y->attributes().size());
    for (std::size_t i = 0; i < x->attributes().size(); ++i) {
      EXPECT_EQ(x->attributes()[i].name, y->attributes()[i].name);
      EXPECT_TRUE(equal(x->attributes()[i].value, y->attributes()[i].value)) << x->attributes()[i].name;
    }
    ASSERT_EQ(!x->location(), !y->location());
    if (x->location()) {
      EXPECT_EQ(x->location()->file, y->location()->file);
      EXPECT_EQ(x->location()->line, y->location()->line);
      EXPECT_EQ(x->location()->column, y->location()->column);
    }
    ASSERT_EQ(x->blocks().size(), y->blocks().size());
    for (std::size_t i = 0; i < x->blocks().size(); ++i) expect_same(*x->blocks()[i], *y->blocks()[i]);
  }
  EXPECT_EQ(x, y);
  EXPECT_EQ(a.outputs().size(), b.outputs().size());
}

TEST(Text, TorchsGraphsSurviveTheRoundTrip) {
  for (const auto& file : sample_graphs()) {
    SCOPED_TRACE(file.filename().string());
    const Graph graph = parse_graph(text_of(file), {file.filename().string()});
    graph.verify();
    const Graph again = parse_graph(print(graph), {"printed"});
    again.verify();
    expect_same(*graph.top(), *again.top());
    EXPECT_EQ(print(graph), print(again));
  }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

TEST(Text, PrintsLineForLineWhatTorchPrints) {
  // Where no float, tensor, enum or subgraph is spelled otherwise, the text itself is torch's.
  for (const char* name : {"traced_inlined", "traced", "calls", "recurrent", "scripted_inlined"}) {
    const std::string text = text_of(COMPATCHECK_SOURCE_DIR "/tests/ir/graphs/" + std::string(name) + ".txt");
    const std::string printed = print(parse_graph(text));
    EXPECT_EQ(replaced(replaced(printed, "=1e-05]", "=1.0000000000000001e-05]"), "=0.1]", "=0.10000000000000001]"), text);
  }
}

const Node& first(const Graph& graph) { return *graph.top()->first(); }

TEST(Text, OriginOfANode) {
  const auto origin = [](const std::string& line) { return parse_graph("graph(%x : Tensor):\n  " + line + "\n  return (%x)"); };
  const Graph traced = origin("%y : Tensor = aten::relu(%x), scope: __module.a/__module.a.b.0 # my models/net.py:12:0");
  EXPECT_EQ(first(traced).module(), "a.b.0");
  EXPECT_EQ(first(traced).location()->file, "my models/net.py");
  EXPECT_EQ(first(traced).location()->line, 12);
  EXPECT_EQ(first(traced).location()->column, 0);  // tracing doesn't know
  const Graph scripted = origin("%y : Tensor = aten::relu(%x) # C:\\net.py:12:4\r");
  EXPECT_EQ(first(scripted).location()->file, "C:\\net.py");
  EXPECT_EQ(first(scripted).location()->column, 5);
  EXPECT_EQ(first(origin("%y : Tensor = aten::relu(%x), scope: __module")).module(), "");
  EXPECT_EQ(first(origin("%y : Tensor = aten::relu(%x), scope: Net::/torch.nn.Conv2d::features.0")).module(), "features.0");
  EXPECT_EQ(first(origin("%y : Tensor = aten::relu(%x), scope: Net/Sequential[features]/Conv2d[0]")).module(), "features.0");
  EXPECT_EQ(first(origin("%y : Tensor = aten::relu(%x) # not a place")).location(), nullptr);
}

TEST(Text, PythonOperators) {
  const auto parsed = [](const std::string& call) {
    return parse_graph("graph(%x : Tensor):\n  %y : Tensor = " + call + " # net.py:1:0\n  return (%y)");
  };
  const Graph plain = parsed("^MyRelu[inplace=0]()(%x)");
  EXPECT_EQ(first(plain).op(), "prim::PythonOp");
  EXPECT_EQ(*first(plain).attribute("pyname")->get<std::string>(), "MyRelu");
  EXPECT_EQ(*first(plain).attribute("inplace")->get<std::int64_t>(), 0);
  EXPECT_EQ(first(plain).inputs().size(), 1u);
  const Graph scalars = parsed("^Clamp[module=\"net\"](-1.5, (a), [1, 2]))(%x)");
  EXPECT_EQ(*first(scalars).attribute("scalars")->get<std::string>(), "-1.5, (a), [1, 2])");
  EXPECT_EQ(print(first(scalars)), "%y : Tensor = ^Clamp[module=\"net\"](-1.5, (a), [1, 2]))(%x)");
  EXPECT_EQ(first(parsed("^MyRelu(%x)")).inputs().size(), 1u);
  const Graph spelled = parsed("prim::PythonOp[name=\"MyRelu\", pyobj=<python object>](%x)");
  EXPECT_EQ(*first(spelled).attribute("name")->get<std::string>(), "MyRelu");
}

TEST(Text, HandWrittenShortcuts) {
  const Graph graph = parse_graph(
      "Exported graph: graph(%x, %y : int):\n  %a, %b : int = acme::f(%x) %c = acme::g(%a, %b)\n  acme::log(%c)\n  return (%c, "
      "%y)");
  graph.verify();
  EXPECT_EQ(print(graph),
            "graph(%x : Tensor,\n      %y : int):\n  %a : Tensor, %b : int = acme::f(%x)\n"
            "  %c : Tensor = acme::g(%a, %b)\n   = acme::log(%c)\n  return (%c, %y)\n");
}

TEST(Text, SubgraphsBecomeBlocks) {
  const Graph graph = parse_graph(text_of(COMPATCHECK_SOURCE_DIR "/tests/ir/graphs/language.txt"));
  const Node* fork = nullptr;
  for (const Node* node : *graph.top())
    if (node->is("prim::fork")) fork = node;
  ASSERT_NE(fork, nullptr);
  ASSERT_EQ(fork->blocks().size(), 1u);
  EXPECT_EQ(fork->blocks()[0]->inputs().size(), fork->inputs().size());
  EXPECT_EQ(fork->blocks()[0]->first()->op(), "aten::relu");
}

TEST(Text, EveryValueGetsANameOfItsOwn) {
  Graph graph;
  Value* x = graph.top()->add_input(tensor_type(), "x");
  for (const char* name : {"x", "x.1", "", "7", "7"}) {
    Node* node = graph.create("acme::f", std::vector<Value*>{x}, 1);
    node->output()->set_name(name);
    graph.top()->append(node);
    graph.top()->add_output(node->output());
  }
  const Graph again = parse_graph(print(graph));
  EXPECT_EQ(print(graph), print(again));
  EXPECT_EQ(again.outputs().size(), 5u);
}

}  // namespace
}  // namespace compatcheck::ir
