#include "model_tools/cut.h"

#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "onnx_file/onnx_text.h"

namespace compatcheck::model_tools {
namespace {

using onnx_file::GraphIndex;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

::onnx::GraphProto graph_of(const char* text) { return onnx_file::read_text<::onnx::GraphProto>(text); }

template <class Failure, class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

const ::onnx::GraphProto chain = graph_of(R"(g (float[2] x, float[2] m) => (float[2] y) <float[2] w = {1, 2}> {
  a = Abs(x)
  b = Add(a, w)
  c = Mul(b, m)
  k = Neg(w)
  y = Add(c, k)
})");

TEST(Cut, TakesWhatLiesBetween) {
  const GraphIndex index(chain);
  const Cut found = cut(index, {"a"}, {"b"});
  EXPECT_THAT(found.nodes, ElementsAre(false, true, false, false, false));
  EXPECT_THAT(found.initializers, UnorderedElementsAre("w"));
  EXPECT_THAT(found.unread, IsEmpty());
}

TEST(Cut, NamesAllInputsThatAreMissing) {
  const GraphIndex index(chain);
  EXPECT_EQ(
      message_of<UsageError>([&] { cut(index, {"k"}, {"y"}); }),
      "ExtractOptions::from lacks inputs of the model that y needs: x (read by Abs (number 0)), m (read by Mul (number 2))");
}

TEST(Cut, NamesWhatNothingReads) {
  const GraphIndex index(chain);
  EXPECT_THAT(cut(index, {"x", "m"}, {"b"}).unread, ElementsAre("m"));
}

TEST(Cut, RefusesWhatNothingGives) {
  const auto graph = graph_of("g (float[2] x) => (float[2] y) { y = Add(x, z) }");
  const GraphIndex index(graph);
  EXPECT_EQ(message_of<ModelError>([&] { cut(index, {"x"}, {"y"}); }),
            "isn't valid ONNX: node Add (number 0) reads 'z', which nothing gives");
}

TEST(GraphIndex, KnowsWhatVaries) {
  const GraphIndex index(chain);
  EXPECT_TRUE(index.varies("c"));
  EXPECT_FALSE(index.varies("k"));
}

TEST(GraphIndex, ReadsOfBodiesAreTheNodes) {
  const auto graph = graph_of(R"(g (bool c, float[2] x) => (float[2] y) {
    a = Abs(x)
    y = If(c) <then_branch = t () => (float[2] p) { q = If(c) <then_branch = i () => (float[2] r) { r = Neg(a) }, else_branch = j () => (float[2] s) { s = Neg(x) }>
                                                    p = Neg(q) }, else_branch = e () => (float[2] x) {}>
  })");
  const GraphIndex index(graph);
  EXPECT_THAT(index.reads(1), ElementsAre("c", "a", "x"));
  EXPECT_EQ(index.body_of("r"), "If (number 1)");
  EXPECT_EQ(index.body_of("a"), std::nullopt);
}

TEST(GraphIndex, ModulesAreThePathsOfNodes) {
  auto graph = chain;
  const char* names[] = {"/embed/Abs", "/encoder.layer.1/Add", "/encoder/layer.1/act/Mul", "/encoder.layer.10/Neg", "last"};
  for (int i = 0; i < graph.node_size(); ++i) graph.mutable_node(i)->set_name(names[i]);
  const GraphIndex index(graph);
  EXPECT_THAT(index.nodes_of("encoder.layer.1"), ElementsAre(1, 2));
  EXPECT_THAT(index.nodes_of("last"), ElementsAre(4));
  EXPECT_THAT(index.nodes_of("layer.1"), IsEmpty());
  EXPECT_THAT(index.read_by({1, 2}), ElementsAre("a", "m"));
  EXPECT_THAT(index.given_by({1, 2}), ElementsAre("c"));
  EXPECT_THAT(index.modules(),
              ElementsAre("embed", "encoder", "encoder.layer", "encoder.layer.1", "encoder.layer.1.act", "encoder.layer.10"));
}

TEST(GraphIndex, RefusesAValueGivenTwice) {
  const auto graph = graph_of("g (float[2] x) => (float[2] y) { y = Abs(x) y = Neg(x) }");
  EXPECT_EQ(message_of<ModelError>([&] { GraphIndex index(graph); }),
            "isn't valid ONNX: 'y' is given twice, also by node Neg (number 1)");
}

}  // namespace
}  // namespace compatcheck::model_tools
