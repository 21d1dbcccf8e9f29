#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "passes/normalize.h"
#include "passes/program_text.h"

namespace compatcheck::passes {
namespace {

std::vector<std::string> operators(const ir::Graph& graph) {
  std::vector<std::string> found;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (!node->is("prim::Constant")) found.push_back(node->op());
  });
  return found;
}

// Nodes point into it.
const schema::Registry& schemas() {
  static const schema::Registry shipped;
  return shipped;
}

Normalized normalized(const ir::Program& program) {
  NormalizeOptions options;
  options.verify_between = true;
  return normalize(program, schemas(), options);
}

const std::string block_forward =
    "graph(%self : __torch__.Block, %x : Tensor):\n"
    "  %w : Tensor = prim::GetAttr[name=\"weight\"](%self)\n"
    "  %y : Tensor = aten::mul(%x, %w) # block.py:7:4\n"
    "  return (%y)\n";

// Net { inner: Block, other: Block }, forward calls both.
ir::Program two_blocks() {
  ir::Program program;
  add_method(program, "__torch__.Block", "forward", block_forward);
  const auto inner = add_module(program, "__torch__.Block", {{"weight", tensor_constant({2})}});
  const auto other = add_module(program, "__torch__.Block", {{"weight", tensor_constant({3})}});
  add_module(program, "__torch__.Net", {{"inner", {ir::ObjectConstant{inner}}}, {"other", {ir::ObjectConstant{other}}}});
  add_method(program, "__torch__.Net", "forward",
             "graph(%self : __torch__.Net, %x : Tensor):\n"
             "  %i : __torch__.Block = prim::GetAttr[name=\"inner\"](%self)\n"
             "  %o : __torch__.Block = prim::GetAttr[name=\"other\"](%self)\n"
             "  %a : Tensor = prim::CallMethod[name=\"forward\"](%i, %x) # net.py:3:8\n"
             "  %b : Tensor = prim::CallMethod[name=\"forward\"](%o, %a) # net.py:4:8\n"
             "  return (%b)\n");
  return program;
}

TEST(Inline, MethodsWithTheirModulesAndCallers) {
  const Normalized result = normalized(two_blocks());
  EXPECT_EQ(operators(result.graph), (std::vector<std::string>{"aten::mul", "aten::mul"}));
  EXPECT_EQ(result.graph.inputs().size(), 1u);
  std::vector<const ir::Node*> products;
  for (const ir::Node* node : *result.graph.top())
    if (node->is("aten::mul")) products.push_back(node);
  EXPECT_EQ(products[0]->module(), "inner");
  EXPECT_EQ(products[1]->module(), "other");
  ASSERT_TRUE(products[1]->location());
  EXPECT_EQ(products[1]->location()->file, "block.py");
  ASSERT_TRUE(products[1]->location()->caller);
  EXPECT_EQ(products[1]->location()->caller->line, 4);
  const ir::Node* weight = products[1]->input(1)->producer();
  ASSERT_TRUE(weight->attribute("path"));
  EXPECT_EQ(*weight->attribute("path")->get<std::string>(), "other.weight");
  EXPECT_EQ(result.steps, (std::vector<std::string>{"inlined 2 calls", "made constants of 2 plain attributes",
                                                    "made constants of 2 tensor and list attributes"}));
}

TEST(Inline, InterfacesAreResolvedByTheObject) {
  ir::Program program = two_blocks();
  program.classes["__torch__.Interface"].is_interface = true;
  add_method(program, "__torch__.Net", "forward",
             "graph(%self : __torch__.Net, %x : Tensor):\n"
             "  %1 : int = prim::Constant[value=-1]()\n"
             "  %i : __torch__.Interface = prim::ModuleContainerIndex(%self, %1)\n"
             "  %a : Tensor = prim::CallMethod[name=\"forward\"](%i, %x)\n"
             "  return (%a)\n");
  const Normalized result = normalized(program);
  ASSERT_EQ(operators(result.graph), (std::vector<std::string>{"aten::mul"}));
  EXPECT_EQ(result.graph.top()->last()->module(), "other");
}

TEST(Inline, ModulesThatANumberChoosesKeepTheirNames) {
  ir::Program program = two_blocks();
  const std::uint32_t blocks = program.root;
  program.classes["__torch__.Interface"].is_interface = true;
  add_module(program, "__torch__.Outer", {{"blocks", {ir::ObjectConstant{blocks}}}});
  add_method(program, "__torch__.Outer", "forward",
             "graph(%self : __torch__.Outer, %x : Tensor, %n : int):\n"
             "  %b : __torch__.Net = prim::GetAttr[name=\"blocks\"](%self)\n"
             "  %i : __torch__.Interface = prim::ModuleContainerIndex(%b, %n)\n"
             "  %a : Tensor = prim::CallMethod[name=\"forward\"](%i, %x)\n"
             "  return (%a)\n");
  std::vector<std::string> modules;
  const Normalized result = normalized(program);
  ir::for_each_node(*result.graph.top(), [&](const ir::Node* node) {
    if (node->is("aten::mul")) modules.emplace_back(node->module());
  });
  EXPECT_EQ(modules, (std::vector<std::string>{"blocks.inner", "blocks.other"}));
}

TEST(Inline, EndlessRecursionIsRefused) {
  ir::Program program;
  add_module(program, "__torch__.Net", {});
  add_method(program, "__torch__.Net", "forward",
             "graph(%self : __torch__.Net, %x : Tensor):\n"
             "  %a : Tensor = prim::CallMethod[name=\"forward\"](%self, %x)\n"
             "  return (%a)\n");
  try {
    normalized(program);
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(), "the model's code calls itself without end: __torch__.Net.forward");
  }
}

std::string refusal(const ir::Program& program) {
  try {
    normalized(program);
  } catch (const ModelError& error) {
    return error.what();
  }
  return {};
}

// `levels` functions, each of which calls the one before so many times.
ir::Program tower(int levels, int calls, const std::string& extra = {}) {
  ir::Program program;
  add_module(program, "__torch__.Net", {});
  add_function(program, "f0", "graph(%x : Tensor):\n" + extra + "  %y : Tensor = aten::relu(%x)\n  return (%y)\n");
  for (int level = 1; level <= levels; ++level) {
    std::string body = "  %f : Function = prim::Constant[name=\"f" + std::to_string(level - 1) + "\"]()\n";
    for (int call = 0; call < calls; ++call)
      body += "  %x" + std::to_string(call + 1) + " : Tensor = prim::CallFunction(%f, %x" + std::to_string(call) + ")\n";
    add_function(program, "f" + std::to_string(level),
                 "graph(%x0 : Tensor):\n" + body + "  return (%x" + std::to_string(calls) + ")\n");
  }
  add_method(program, "__torch__.Net", "forward",
             "graph(%self : __torch__.Net, %x : Tensor):\n  %f : Function = prim::Constant[name=\"f" + std::to_string(levels) +
                 "\"]()\n  %y : Tensor = prim::CallFunction(%f, %x)\n  return (%y)\n");
  return program;
}

// Small in the file, endless when taken at their word.
TEST(Inline, CallsThatDoubleAtEveryLevel) {
  EXPECT_EQ(operators(normalized(tower(5, 2)).graph), std::vector<std::string>(32, "aten::relu"));
  EXPECT_EQ(refusal(tower(40, 2)), "inlining the model's calls gives more than 400000 nodes");
  EXPECT_EQ(refusal(tower(500, 1)), "calls are nested more than 400 deep: f100");
}

TEST(Inline, CopiesOfLongConstantsCount) {
  const std::string text =
      "  %t : str = prim::Constant[value=\"" + std::string(1 << 20, 'a') + "\"]()\n  %k : Tensor = acme::keep(%x, %t)\n";
  EXPECT_EQ(refusal(tower(12, 2, text)), "inlining the model's calls gives more than 400000 nodes");
}

TEST(Inline, AMethodThatIsNotThere) {
  const ir::Program program = two_blocks();
  NormalizeOptions options;
  options.method = "encode";
  try {
    normalize(program, schemas(), options);
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(), "the model's class __torch__.Net has no method encode; it has forward (LoadOptions::method)");
  }
}

TEST(Inline, ForkAndWait) {
  ir::Program program;
  add_module(program, "__torch__.Net", {});
  add_function(program, "work", "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n");
  add_method(program, "__torch__.Net", "forward",
             "graph(%self : __torch__.Net, %x : Tensor):\n"
             "  %f : Future(Tensor) = prim::fork(%x)\n"
             "  %a : Tensor = aten::wait(%f)\n"
             "  return (%a)\n");
  for (ir::Node* node : *program.functions.at("__torch__.Net.forward").graph.top())
    if (node->is("prim::fork")) node->set_attribute("Subgraph", {ir::FunctionConstant{"work"}});
  EXPECT_EQ(operators(normalized(program).graph), (std::vector<std::string>{"aten::relu"}));
}

// ---- Attributes

ir::Program with_forward(const std::string& body) {
  ir::Program program;
  add_module(program, "__torch__.Net",
             {{"count", {std::int64_t{3}}}, {"buf", tensor_constant({2})}, {"training", {true}}, {"alias", {}}});
  program.objects[0].attributes[3] = program.objects[0].attributes[1];  // the same storage
  program.classes["__torch__.Net"].attributes[3].type = ir::tensor_type();
  add_method(program, "__torch__.Net", "forward", "graph(%self : __torch__.Net, %x : Tensor):\n" + body);
  return program;
}

std::vector<std::string> reasons(const Normalized& result) {
  std::vector<std::string> all;
  for (const UnresolvedWrite& write : result.unresolved_writes) all.push_back(write.why);
  return all;
}

TEST(Attributes, TrainingReadsAsFalse) {
  const Normalized result =
      normalized(with_forward("  %t : bool = prim::GetAttr[name=\"training\"](%self)\n"
                              "  %y : Tensor = prim::If(%t)\n"
                              "    block0():\n"
                              "      %1 : int = prim::Constant[value=1]()\n"
                              "      %b : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
                              "      %c : Tensor = aten::add_(%b, %1, %1)\n"
                              "      -> (%c)\n"
                              "    block1():\n"
                              "      -> (%x)\n"
                              "  return (%y)\n"));
  EXPECT_TRUE(operators(result.graph).empty());
  EXPECT_TRUE(result.unresolved_writes.empty());
  EXPECT_EQ(result.steps[0], "read `training` as false in 1 place, saved as true");
}

TEST(Attributes, WrittenOnesStayReads) {
  const Normalized result =
      normalized(with_forward("  %1 : int = prim::Constant[value=1]()\n"
                              "  %c : int = prim::GetAttr[name=\"count\"](%self)\n"
                              "  %d : int = aten::add(%c, %1)\n"
                              "   = prim::SetAttr[name=\"count\"](%self, %d)\n"
                              "  %y : Tensor = aten::add(%x, %c, %1)\n"
                              "  return (%y)\n"));
  EXPECT_EQ(operators(result.graph), (std::vector<std::string>{"prim::GetAttr", "aten::add", "prim::SetAttr", "aten::add"}));
  EXPECT_EQ(reasons(result),
            (std::vector<std::string>{"the model writes attribute 'count', which keeps its value from call to call"}));
}

TEST(Attributes, AWriteThatNothingReadsGoes) {
  const Normalized result =
      normalized(with_forward("   = prim::SetAttr[name=\"buf\"](%self, %x)\n"
                              "  %b : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
                              "  %y : Tensor = aten::relu(%b)\n"
                              "  return (%y)\n"));
  EXPECT_EQ(operators(result.graph), (std::vector<std::string>{"aten::relu"}));
  EXPECT_EQ(result.graph.top()->last()->input(0), result.graph.inputs()[0]);
}

TEST(Attributes, InPlaceWritesCountAlsoThroughAnotherName) {
  const Normalized result =
      normalized(with_forward("  %1 : int = prim::Constant[value=1]()\n"
                              "  %b : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
                              "  %c : Tensor = aten::add_(%b, %1, %1)\n"
                              "  %a : Tensor = prim::GetAttr[name=\"alias\"](%self)\n"
                              "  %y : Tensor = aten::mul(%x, %a)\n"
                              "  return (%y)\n"));
  EXPECT_EQ(operators(result.graph), (std::vector<std::string>{"prim::GetAttr", "aten::add_", "prim::GetAttr", "aten::mul"}));
  EXPECT_EQ(reasons(result),
            (std::vector<std::string>{"the model writes attribute 'buf', which keeps its value from call to call"}));
}

TEST(Attributes, ACounterThatNothingReadsIsDead) {
  const Normalized result =
      normalized(with_forward("  %1 : int = prim::Constant[value=1]()\n"
                              "  %b : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
                              "  %c : Tensor = aten::add_(%b, %1, %1)\n"
                              "  %y : Tensor = aten::relu(%x)\n"
                              "  return (%y)\n"));
  EXPECT_EQ(operators(result.graph), (std::vector<std::string>{"aten::relu"}));
}

TEST(Attributes, WhatEachCallFillsAnewIsNoState) {
  const std::string filled =
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %f : bool = prim::Constant[value=0]()\n"
      "  %b : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
      "  %c : Tensor = aten::copy_(%b, %x, %f)\n";
  const std::string read_again =
      "  %d : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
      "  %e : Tensor = aten::select(%d, %0, %0)\n"
      "  %g : Tensor = aten::neg_(%e)\n";
  const Normalized result = normalized(with_forward(filled + read_again + "  return (%b)\n"));
  EXPECT_EQ(operators(result.graph),
            (std::vector<std::string>{"aten::empty_like", "aten::copy", "aten::select", "aten::neg", "aten::select_scatter"}));
  EXPECT_EQ(reasons(result), std::vector<std::string>{});
  const std::string kept = "the model writes attribute 'buf', which keeps its value from call to call";
  EXPECT_EQ(reasons(normalized(with_forward("  %1 : int = prim::Constant[value=1]()\n"
                                            "  %a : Tensor = prim::GetAttr[name=\"buf\"](%self)\n"
                                            "  %z : Tensor = aten::mul(%x, %a)\n" +
                                            filled + "  return (%z, %b)\n"))),
            std::vector<std::string>{kept});
  EXPECT_EQ(
      reasons(normalized(with_forward(filled + "  %a : Tensor = prim::GetAttr[name=\"alias\"](%self)\n  return (%a, %b)\n"))),
      std::vector<std::string>{kept});
}

}  // namespace
}  // namespace compatcheck::passes
