#include <gtest/gtest.h>

#include <fstream>

#include "ir/sample_graphs.h"
#include "ir/text.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

// Nodes in the order of the dump; libtorch keeps a fork's body elsewhere.
void collect(const ir::Block& block, std::vector<std::pair<std::string, std::string>>& found) {
  for (const ir::Node* node : block) {
    const Schema* schema = node->schema();
    found.emplace_back(schema ? schema->name + (schema->overload.empty() ? "" : '.' + schema->overload) : "-", print(*node));
    if (!node->is("prim::fork"))
      for (const ir::Block* inner : node->blocks()) collect(*inner, found);
  }
}

TEST(Match, AgreesWithLibtorchOnItsOwnGraphs) {
  const Registry registry;
  std::size_t compared = 0;
  for (const auto& file : ir::sample_graphs()) {
    SCOPED_TRACE(file.filename().string());
    ir::Graph graph = ir::parse_graph(ir::text_of(file));
    resolve(graph, registry);
    std::vector<std::pair<std::string, std::string>> found;
    collect(*graph.top(), found);
    std::ifstream expected(COMPATCHECK_SOURCE_DIR "/tests/schema/overloads" / file.filename());
    std::size_t i = 0;
    for (std::string line; std::getline(expected, line); ++i) {
      ASSERT_LT(i, found.size());
      EXPECT_EQ(found[i].first, line) << found[i].second;
      ++compared;
    }
    EXPECT_EQ(i, found.size());
  }
  EXPECT_GT(compared, 700u);
}

std::string overload_of(const std::string& inputs, const std::string& call, const Registry& registry = {}) {
  ir::Graph graph = ir::parse_graph("graph(" + inputs + "):\n  %out : Tensor = " + call + "\n  return (%out)");
  const Schema* schema = match(*graph.top()->first(), registry);
  return schema ? (schema->overload.empty() ? "default" : schema->overload) : "none";
}

TEST(Match, TakesTheFirstThatFitsStrictly) {
  EXPECT_EQ(overload_of("%x : Tensor, %y : Tensor, %a : int", "aten::add(%x, %y, %a)"), "Tensor");
  EXPECT_EQ(overload_of("%x : Tensor, %y : float, %a : int", "aten::add(%x, %y, %a)"), "Scalar");
  EXPECT_EQ(overload_of("%x : int, %y : int", "aten::add(%x, %y)"), "int");
  EXPECT_EQ(overload_of("%x : int, %y : float", "aten::add(%x, %y)"), "int_float");
  EXPECT_EQ(overload_of("%x : int[], %y : int[]", "aten::add(%x, %y)"), "t");
  EXPECT_EQ(overload_of("%x : str, %y : str", "aten::add(%x, %y)"), "str");
  EXPECT_EQ(overload_of("%d : Dict(str, Float(2)), %k : str", "aten::__getitem__(%d, %k)"), "Dict_str");
  EXPECT_EQ(overload_of("%l : Tensor[], %k : int", "aten::__getitem__(%l, %k)"), "t");
  EXPECT_EQ(overload_of("%l : int[], %x : Tensor", "aten::append(%l, %x)"), "none");
  EXPECT_EQ(overload_of("%x : Tensor, %y : Union(float, int)", "aten::pow(%x, %y)"), "Tensor_Scalar");
  EXPECT_EQ(overload_of("%x : Union(float, int), %y : float", "aten::eq(%x, %y)"), "default");
}

TEST(Match, ConvertsWhereTorchScriptDoes) {
  // A traced number where a tensor stands, a tensor where a number does.
  EXPECT_EQ(overload_of("%x : Long(), %a : int", "aten::add(%a, %x, %a)"), "Tensor");
  EXPECT_EQ(overload_of("%x : Tensor, %d : Tensor, %b : bool", "aten::select(%x, %d, %d)"), "int");
  EXPECT_EQ(overload_of("%x : Tensor, %s : Tensor[], %b : bool", "aten::reshape(%x, %s)"), "default");
  EXPECT_EQ(overload_of("%x : Tensor, %i : Tensor?[]", "aten::index(%x, %i)"), "Tensor");
  EXPECT_EQ(overload_of("%x : Tensor, %k : int, %n : NoneType, %b : bool", "aten::mean(%x, %k, %b, %n)"),
            "dim");  // int for int[1]?
  EXPECT_EQ(overload_of("%x : Tensor, %k : NoneType", "aten::sum(%x, %k)"), "default");
  EXPECT_EQ(overload_of("%x : Tensor", "aten::softmax(%x)"), "none");
}

TEST(Match, CountsArguments) {
  EXPECT_EQ(overload_of("%s : str, %x : Tensor, %i : int", "aten::format(%s, %x, %i)"), "default");
  EXPECT_EQ(overload_of("%s : str", "aten::format(%s)"), "default");
  EXPECT_EQ(overload_of("%x : Tensor, %y : Tensor", "aten::add(%x, %y)"), "Tensor");  // alpha left out by hand
  EXPECT_EQ(overload_of("%x : Tensor", "aten::relu(%x, %x, %x)"), "none");
  EXPECT_EQ(overload_of("%x : Tensor", "acme::f(%x)"), "none");
}

TEST(Match, UsersSchemas) {
  Registry registry;
  registry.add("acme::f(Tensor x, int[2] k) -> Tensor");
  EXPECT_EQ(overload_of("%x : Tensor, %k : int", "acme::f(%x, %k)", registry), "default");
  EXPECT_EQ(overload_of("%x : Tensor, %k : str", "acme::f(%x, %k)", registry), "none");
}

TEST(Match, ResolveWritesSchemaAndOverload) {
  ir::Graph graph = ir::parse_graph(
      "graph(%x : Tensor, %c : bool, %a : int):\n  %y : Tensor = prim::If(%c)\n    block0():\n"
      "      %z : Tensor = aten::add(%x, %x, %a)\n      -> (%z)\n    block1():\n      -> (%x)\n  return (%y)");
  const Registry registry;
  resolve(graph, registry);
  const ir::Node* add = graph.top()->first()->blocks()[0]->first();
  EXPECT_EQ(add->overload(), "Tensor");
  EXPECT_EQ(add->schema(), registry.find("aten::add", "Tensor"));
  EXPECT_EQ(graph.top()->first()->schema(), nullptr);
}

}  // namespace
}  // namespace compatcheck::schema
