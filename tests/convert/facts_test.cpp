// Facts that are stated again where inputs become known are those that would be stated anew.
#include "conversion/facts.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "schema/schema.h"

namespace compatcheck::conversion {
namespace {

constexpr const char* text = R"(graph(%x : Tensor, %y : Tensor, %n : int, %c : bool):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%y)
  %s : int = aten::size(%x, %one)
  %b : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%a)
  %d : Tensor = aten::matmul(%b, %a)
  %e : Tensor, %k : int = prim::Loop(%n, %true, %a, %zero)
    block0(%i : int, %carried : Tensor, %count : int):
      %next : int = aten::add(%count, %one)
      %f : Tensor = aten::add(%carried, %x, %one)
      -> (%true, %f, %next)
  %u : int = prim::Loop(%n, %true, %zero)
    block0(%j : int, %sum : int):
      %more : int = aten::add(%sum, %one)
      -> (%true, %more)
  %l : Tensor[] = prim::ListConstruct(%d, %e)
  %h : Tensor = aten::cat(%l, %zero)
  return (%h, %a, %k, %u)
)";

std::vector<InputFact> given(std::optional<symbolic::Shape> x, std::optional<symbolic::Shape> y) {
  const auto fact = [](const symbolic::Shape& shape) {
    return symbolic::Fact{.value = symbolic::TensorFact{.dtype = ir::DType::f32, .shape = shape}};
  };
  std::vector<InputFact> facts;
  if (x) facts.push_back({"x", fact(*x)});
  if (y) facts.push_back({"y", fact(*y)});
  return facts;
}

class FactTrialsTest : public testing::Test {
 protected:
  FactTrialsTest() { schema::resolve(graph_, schemas_); }

  void expect_as_stated_anew(const std::vector<InputFact>& inputs) {
    trials_.state(inputs);
    const auto anew = state_facts(graph_, inputs, table_, schemas_, registry_);
    const auto compare = [&](const ir::Value* value) {
      EXPECT_TRUE(symbolic::same(trials_.facts().of(value), anew.of(value)))
          << value->name() << ": " << symbolic::to_string(trials_.facts().of(value)) << ", not "
          << symbolic::to_string(anew.of(value));
    };
    ir::for_each_node(*graph_.top(), [&](const ir::Node* node) {
      for (const ir::Value* output : node->outputs()) compare(output);
      for (const ir::Block* block : node->blocks())
        for (const ir::Value* input : block->inputs()) compare(input);
    });
  }

  const mapping::Table table_ = mapping::Table::shipped();
  const schema::Registry schemas_;
  const symbolic::Registry registry_ = symbolic::shipped_registry();
  const ir::Watch watch_;
  ir::Graph graph_ = ir::parse_graph(text);
  FactTrials trials_{graph_, table_, schemas_, registry_, nullptr, watch_};
};

TEST_F(FactTrialsTest, StatedAgainAsTheyWouldBeStatedAnew) {
  expect_as_stated_anew({});
  expect_as_stated_anew(given(symbolic::Shape{3, 3}, std::nullopt));
  expect_as_stated_anew(given(symbolic::Shape{3, 3}, symbolic::Shape{3, 3}));
  expect_as_stated_anew(given(symbolic::Shape{1, 3}, symbolic::Shape{3, 3}));
  expect_as_stated_anew(given(std::nullopt, symbolic::Shape{3, 3}));
  const std::size_t work = trials_.work();
  trials_.state(given(std::nullopt, symbolic::Shape{3, 3}));
  EXPECT_EQ(trials_.work(), work);  // nothing is new
}

std::string list_of(const std::string& name, int count, std::string_view item) {
  std::string code = "  %" + name + " : Tensor[] = prim::ListConstruct(";
  for (int i = 0; i < count; ++i) code.append(i == 0 ? "%" : ", %").append(item);
  return code + ")\n";
}

bool knows_items(const symbolic::FactTable& facts, const ir::Graph& graph, const std::string& name) {
  bool known = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (node->outputs().size() != 1 || node->output()->name() != name) return;
    const auto* list = facts.of(node->output()).list();
    known = list && list->items;
  });
  return known;
}

symbolic::FactTable stated(ir::Graph& graph) {
  const schema::Registry schemas;
  schema::resolve(graph, schemas);
  const symbolic::Fact x{.value = symbolic::TensorFact{.dtype = ir::DType::f32, .shape = symbolic::Shape{3, 3}}};
  return state_facts(graph, {{"x", x}}, mapping::Table::shipped(), schemas, symbolic::shipped_registry());
}

TEST(LargeFacts, LeaveMemoryForSmallOnes) {
  std::string code = "graph(%x : Tensor):\n";
  for (int i = 0; i < 300; ++i) code += list_of("large" + std::to_string(i), 1000, "x");
  for (int i = 0; i < 100; ++i) code += list_of("small" + std::to_string(i), 50, "x");
  ir::Graph graph = ir::parse_graph(code + "  return (%x)\n");
  const auto facts = stated(graph);
  EXPECT_TRUE(knows_items(facts, graph, "large0"));
  EXPECT_FALSE(knows_items(facts, graph, "large299"));
  EXPECT_TRUE(knows_items(facts, graph, "small99"));
}

TEST(LargeFacts, ArePaidForOnceHoweverOftenALoopIsVisited) {
  std::string code = R"(graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor = prim::Loop(%n, %true, %x, %x, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor, %r : Tensor, %s : Tensor):
)";
  for (int i = 0; i < 60; ++i) code += "    " + list_of("large" + std::to_string(i), 1000, "s");
  // Each that is carried changes its rank in the round after the one before.
  ir::Graph graph = ir::parse_graph(code + R"(      %next : Tensor = aten::unsqueeze(%p, %one)
      -> (%true, %next, %p, %q, %r)
  return (%a, %d)
)");
  EXPECT_TRUE(knows_items(stated(graph), graph, "large59"));
}

}  // namespace
}  // namespace compatcheck::conversion
