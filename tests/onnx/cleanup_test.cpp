#include "onnx/cleanup.h"

#include <gmock/gmock.h>

#include <cstring>
#include <memory>

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
  made.output(
      made.builder.control("If", {condition}, {{"then_branch", bodies[0]}, {"else_branch", bodies[1]}}, {DType::f32}, {false})
          .front());
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Exp", "If", "Abs", "Neg"));
}

TEST(Cleanup, ABatchNormGoesIntoItsConv) {
  Made made;
  const Value x = made.input();
  const auto floats = [&](std::vector<std::int64_t> dims, std::vector<double> numbers) {
    return made.builder.constant(make_tensor(DType::f32, dims, numbers));
  };
  const Value scale = floats({2}, {2, 3}), offset = floats({2}, {1, 0}), mean = floats({2}, {4, 5}),
              variance = floats({2}, {1, 9});
  const auto norm = [&](const Value& value) {
    return made.builder.node("BatchNormalization", {value, scale, offset, mean, variance}, {{"epsilon", 0.0}});
  };
  made.output(norm(made.builder.node("Conv", {x, floats({2, 1, 1}, {1, 10})})));
  const Value read_twice = made.builder.node("Conv", {x, floats({2, 1, 1}, {7, 7})});
  made.output(made.builder.node("Add", {norm(read_twice), read_twice}));
  fuse_batch_norm(made.model, {});
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("Conv", "Conv", "BatchNormalization", "Add"));
  const auto held = [&](std::size_t input) {
    for (const Initializer& initializer : made.model.initializers)
      if (initializer.value == made.model.graph.nodes[0].inputs[input]) return as_floats(initializer.data).value();
    return std::vector<double>();
  };
  EXPECT_THAT(held(1), ElementsAre(2, 10));   // times scale / sqrt(variance)
  EXPECT_THAT(held(2), ElementsAre(-7, -5));  // offset - mean * that
}

TEST(Cleanup, WhatFollowsFromWeightsAloneIsComputed) {
  Made made;
  const Value x = made.input();
  const auto floats = [&](std::vector<std::int64_t> dims, std::vector<double> numbers) {
    return made.builder.constant(make_tensor(DType::f32, dims, numbers));
  };
  const Value v = floats({2, 2}, {3, 4, 6, 8}), g = floats({2, 1}, {1, 2});
  const Value norm = made.builder.node("ReduceL2", {v}, {{"axes", Ints{1}}, {"keepdims", 1}});  // 5, 10
  const Value weight = made.builder.node("Mul", {v, made.builder.node("Div", {g, norm})});
  made.output(made.builder.node("MatMul", {x, made.builder.node("Transpose", {weight}, {{"perm", Ints{1, 0}}})}));
  made.output(made.builder.node("Mul", {v, g}));                                            // an output keeps its node
  made.output(made.builder.node("Add", {floats({2, 1}, {1, 2}), floats({1, 2}, {1, 2})}));  // grows
  fold_constants(made.model, {});
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("MatMul", "Mul", "Add"));
  for (const Initializer& initializer : made.model.initializers)
    if (initializer.value == made.model.graph.nodes[0].inputs[1]) {
      EXPECT_THAT(initializer.data.dims, ElementsAre(2, 2));
      EXPECT_THAT(as_floats(initializer.data).value(), ElementsAre(0.6f, 1.2f, 0.8f, 1.6f));
    }
}

TEST(Cleanup, GatesInAnotherOrderAreLaidOutOnceAndSmallConstantsMayGrow) {
  Made made;
  const Value weight = made.builder.constant(make_tensor(DType::f32, {1, 3, 1}, Doubles{1, 2, 3}));
  made.model.values[weight.id].name = "gru.weight";
  const Value gates = made.builder.node("Gather", {weight, made.builder.ints({1, 0, 2})}, {{"axis", 1}});
  const Value one = made.builder.scalar(DType::i64, std::int64_t{1});
  made.model.values[one.id].name = "offset";
  const Value ends = made.builder.node("Expand", {made.builder.node("Neg", {one}), made.builder.ints({4})});
  made.output(made.builder.node("MatMul", {made.input(), gates}));
  made.output(made.builder.node("Sub", {made.builder.add_input(DType::i64, std::nullopt, "i"), ends}));
  fold_constants(made.model, {});
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("MatMul", "Sub"));
  std::map<ValueId, const TensorData*> left;
  for (const Initializer& initializer : made.model.initializers) left[initializer.value] = &initializer.data;
  ASSERT_EQ(left.size(), 2u);
  EXPECT_THAT(as_floats(*left.at(made.model.graph.nodes[0].inputs[1])).value(), ElementsAre(2, 1, 3));
  EXPECT_THAT(as_ints(*left.at(made.model.graph.nodes[1].inputs[1])).value(), ElementsAre(-1, -1, -1, -1));
}

TEST(Cleanup, NothingIsComputedThatMakesTheFileLarger) {
  const auto left = [](int factors, bool stays) {
    Made made;
    const Value x = made.input(), weight = made.builder.constant(make_tensor(DType::f32, {2000}, Doubles(2000, 3)));
    for (int i = 0; i < factors; ++i)
      made.output(made.builder.node("Add", {x, made.builder.node("Mul", {weight, made.builder.scalar(DType::f32, 2.0 + i)})}));
    if (stays) made.output(made.builder.node("Sub", {x, weight}));
    fold_constants(made.model, {});
    return made.operators();
  };
  EXPECT_THAT(left(1, false), ElementsAre("Add"));
  EXPECT_THAT(left(2, false), ElementsAre("Mul", "Add", "Mul", "Add"));
  EXPECT_THAT(left(1, true), ElementsAre("Mul", "Add", "Sub"));
}

TEST(Cleanup, NothingHugeIsComputed) {
  Made made;
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Ints& dims : {Ints{huge}, Ints{huge, 65, 64}, Ints{1 << 20, 1 << 20}}) {
    const Value zeros = made.builder.node("ConstantOfShape", {made.builder.ints(dims)}, {}, DType::f32);
    made.output(made.builder.node("Add", {made.input(), zeros}));
  }
  fold_constants(made.model, {});
  EXPECT_THAT(made.operators(), ElementsAre("ConstantOfShape", "Add", "ConstantOfShape", "Add", "ConstantOfShape", "Add"));
}

TEST(Cleanup, WeightsAreReadByTheirStrides) {
  Made made;
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = 4 * sizeof(float);
  storage->data.resize(storage->bytes);
  for (int i = 0; i < 4; ++i) {
    const auto number = static_cast<float>(i);
    std::memcpy(storage->data.data() + static_cast<std::size_t>(i) * sizeof number, &number, sizeof number);
  }
  const auto view = [&](Ints sizes, Ints strides) {
    const Value weight =
        made.builder.constant({.dtype = DType::f32,
                               .dims = sizes,
                               .bytes = {},
                               .view = ir::TensorView{.sizes = sizes, .strides = strides, .storage = storage, .quantizer = {}}});
    made.model.values[weight.id].name = "weight";
    return weight;
  };
  const auto negated = [&](const Value& weight) {
    made.output(made.builder.node("Add", {made.input(), made.builder.node("Neg", {weight})}));
  };
  negated(view({2, 2}, {1, 2}));
  negated(view({1 << 15, 1 << 14}, {0, 0}));  // of one element: 2 GB as a tensor
  fold_constants(made.model, {});
  EXPECT_THAT(made.operators(), ElementsAre("Add", "Neg", "Add"));
  EXPECT_THAT(as_floats(made.model.initializers.back().data).value(), ElementsAre(0, -2, -1, -3));
}

TEST(Cleanup, WhatWouldFailAsTheModelRunsIsNotComputed) {
  Made made;
  const Value zero = made.builder.ints({0}), quotient = made.builder.node("Div", {made.builder.ints({1}), zero});
  made.output(made.builder.node("Add", {made.builder.add_input(DType::i64, std::nullopt, "i"), quotient}));
  fold_constants(made.model, {});
  EXPECT_THAT(made.operators(), ElementsAre("Div", "Add"));
}

TEST(Cleanup, AStateOfZerosIsNotGiven) {
  Made made;
  const Value x = made.input(), weight = made.builder.constant(make_tensor(DType::f32, {1, 4, 1}, Doubles{1, 2, 3, 4}));
  const Value dims = made.builder.node("Shape", {x});
  const Value zeros = made.builder.node("ConstantOfShape", {dims}, {}, DType::f32);
  const Value sliced = made.builder.slice(zeros, {0}, {1}, {0});
  const auto layer = [&](const Value& hidden, const Value& cell) {
    made.output(made.builder.nodes("LSTM", {x, weight, weight, {}, {}, hidden, cell}, 1, {{"hidden_size", 1}}).front());
  };
  layer(sliced, x);
  layer(zeros, sliced);
  layer(x, zeros);
  drop_zero_states(made.model);
  remove_dead(made.model);
  EXPECT_THAT(made.operators(), ElementsAre("LSTM", "LSTM", "LSTM"));
  std::vector<std::vector<ValueId>> inputs;
  for (const Node& node : made.model.graph.nodes) inputs.push_back(node.inputs);
  EXPECT_THAT(inputs[0], ElementsAre(x.id, weight.id, weight.id, absent, absent, absent, x.id));
  EXPECT_THAT(inputs[1], ElementsAre(x.id, weight.id, weight.id));
  EXPECT_THAT(inputs[2], ElementsAre(x.id, weight.id, weight.id, absent, absent, x.id));
}

TEST(Cleanup, WeightsAreOfferedAsInputsButConstantsAreNot) {
  Made made;
  const Value x = made.input();
  const Value weight = made.builder.constant(make_tensor(DType::f32, {2}, Doubles{1, 2}));
  made.model.values[weight.id].name = "linear.weight";
  made.output(made.builder.node("Mul", {made.builder.node("Add", {x, weight}), made.builder.scalar(DType::f32, 2)}));
  offer_weights(made.model);
  name_all(made.model);
  ASSERT_THAT(made.model.graph.inputs, ElementsAre(x.id, weight.id));
  const ValueInfo& offered = made.model.values[weight.id];
  EXPECT_EQ(offered.name, "linear.weight");
  ASSERT_TRUE(offered.shape);
  EXPECT_EQ(offered.shape->at(0).size, 2);
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
