// Facts that are stated again where inputs become known are those that would be stated anew.
#include "convert/facts.h"

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

}  // namespace
}  // namespace compatcheck::conversion
