#include "onnx/cleanup.h"

#include <gmock/gmock.h>

#include "onnx/builder.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;
using testing::ElementsAre;

struct Made {
  Made() : builder(model, moved, {7, 26}) { model.opset = 17; }
  Value input() { return builder.add_input(DType::f32, std::nullopt, "x" + std::to_string(model.graph.inputs.size())); }
  void output(const Value& value) { model.graph.outputs.push_back(value.id); }
  std::vector<std::string> operators() const {
    std::vector<std::string> names;
    for_each_node(model.graph, [&](const Node& node) { names.push_back(node.op); });
    return names;
  }
  Model model;
  MovedAttributes moved;
  Builder builder;
};

TEST(Cleanup, DeadNodesAndConstantsGo) {
  Made made;
  const Value x = made.input();
  made.builder.node("Add", {x, made.builder.scalar(DType::f32, 1)});
  made.output(made.builder.node("Mul", {x, made.builder.scalar(DType::f32, 2)}));
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Mul"));
  EXPECT_EQ(made.model.initializers.size(), 1u);
}

TEST(Cleanup, EqualNodesAreOneButOutputsAndRandomOnesStay) {
  Made made;
  const Value x = made.input();
  const Value a = made.builder.node("Exp", {x}), b = made.builder.node("Exp", {x});
  made.output(made.builder.node("Add", {a, b}));
  made.output(made.builder.node("Exp", {x}));
  const Value r = made.builder.node("RandomNormalLike", {x}), s = made.builder.node("RandomNormalLike", {x});
  made.output(made.builder.node("Sub", {r, s}));
  merge_equal(made.model);
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Exp", "Add", "Exp", "RandomNormalLike", "RandomNormalLike", "Sub"));
}

TEST(Cleanup, AnIdentityGoesUnlessItIsAnOutput) {
  Made made;
  const Value x = made.input();
  made.output(made.builder.node("Exp", {made.builder.node("Identity", {x})}));
  made.output(made.builder.node("Identity", {x}));
  remove_identities(made.model);
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Exp", "Identity"));
}

TEST(Cleanup, WhatABodyReadsFromOutsideStays) {
  Made made;
  const Value x = made.input();
  const Value condition = made.builder.add_input(DType::boolean, std::nullopt, "c");
  const Value outside = made.builder.node("Exp", {x});
  std::vector<std::shared_ptr<Graph>> bodies;
  for (const char* op : {"Abs", "Neg"}) {
    bodies.push_back(made.builder.begin_body());
    made.builder.end_body({made.builder.node(op, {outside})});
  }
  made.output(made.builder.control("If", {condition}, {{"then_branch", bodies[0]}, {"else_branch", bodies[1]}}, {DType::f32}, {false}).front());
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Exp", "If", "Abs", "Neg"));
}

TEST(Cleanup, NamesAreUniqueAndKeepTheUsers) {
  Made made;
  const Value x = made.input();
  const Value y = made.builder.node("Exp", {made.builder.node("Exp", {x})});
  made.model.values[y.id].name = "y";
  made.output(y);
  name_all(made.model);
  std::vector<std::string> names;
  for (const Node& node : made.model.graph.nodes) names.push_back(made.model.values[node.outputs[0]].name);
  EXPECT_THAT(names, ElementsAre("/Exp_output_0", "y"));
  EXPECT_EQ(made.model.graph.nodes[1].name, "/Exp_1");
}

}  // namespace
}  // namespace compatcheck::onnx
