#include "onnx/builder.h"

#include <gmock/gmock.h>

#include "compatcheck/error.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;
using testing::ElementsAre;

const MovedAttributes moved{
    {"ReduceSum", {{"axes", "axes"}}}, {"TopK", {{"k", "K"}}}, {"Clip", {{"min", "min"}, {"max", "max"}}}};

// A model under construction at one opset, with inputs of given dtypes.
struct Made {
  explicit Made(int opset) : builder(model, moved, {7, 26}) { model.opset = opset; }
  Value input(DType dtype) { return builder.add_input(dtype, std::nullopt, "x" + std::to_string(model.graph.inputs.size())); }
  const Node& last() const { return model.graph.nodes.back(); }
  std::vector<std::string> operators() const {
    std::vector<std::string> names;
    for (const Node& node : model.graph.nodes) names.push_back(node.op);
    return names;
  }
  Model model;
  Builder builder;
};

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Refusal& refused) {
    return refused.reason;
  }
  return "not refused";
}

TEST(Builder, AnAttributeThatBecameAnInputIsGivenAsOne) {
  Made old(12), newer(13);
  old.builder.node("ReduceSum", {old.input(DType::f32)}, {{"axes", Ints{1}}});
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(old.last().attribute("axes")->value), std::vector<std::int64_t>{1});
  newer.builder.node("ReduceSum", {newer.input(DType::f32)}, {{"axes", Ints{1}}});
  ASSERT_EQ(newer.last().inputs.size(), 2u);
  EXPECT_EQ(as_ints(newer.model.initializers.front().data), Ints{1});
}

// "Relu Cast+": what was emitted, plumbing with a plus.
std::string emitted(Builder& builder) {
  std::string text;
  for (const Emitted& node : builder.take_emitted())
    for (int i = 0; i < node.count; ++i) text += (text.empty() ? "" : " ") + node.op + (node.plumbing ? "+" : "");
  return text;
}

TEST(Builder, PlumbingIsMarked) {
  Made made(13);
  Builder& build = made.builder;
  const Value x = made.input(DType::f64);
  // Casts around a node that ONNX Runtime has no kernel for, and what a handler lays out around its work.
  build.node("Add", {build.unsqueeze(build.cast(x, DType::f32), {0}), build.scalar(DType::f32, 1.0)});
  EXPECT_EQ(emitted(build), "Cast+ Unsqueeze+ Add");
  build.cast(build.node("Max", {made.input(DType::i16), made.input(DType::i16)}), DType::f32);
  EXPECT_EQ(emitted(build), "Cast+ Cast+ Max Cast+ Cast+");
  const std::vector<std::string> meaning{"Cast"};
  build.carry_meaning(meaning);
  build.cast(build.reshape(x, {-1}), DType::f32);
  build.node("Max", {made.input(DType::i16), made.input(DType::i16)});
  EXPECT_EQ(emitted(build), "Reshape+ Cast Cast+ Cast+ Max Cast+");
  {
    const auto plumbing = build.plumbing();
    build.node("Relu", {x});
  }
  build.node("Abs", {x});
  EXPECT_EQ(emitted(build), "Relu+ Abs");
}

TEST(Builder, WhatIsComputedFromSizesAloneIsPlumbing) {
  Made made(13);
  Builder& build = made.builder;
  const Value x = made.input(DType::f32);
  const auto twice = [&](const Value& tensor) {
    return build.node("Mul", {build.gather(build.node("Shape", {tensor}), build.ints({0}), 0), build.ints({2})});
  };
  // Sizes that fill a tensor are plumbing; the tensor isn't.
  build.node("Expand", {x, twice(x)});
  EXPECT_EQ(emitted(build), "Shape+ Gather+ Mul+ Expand");
  build.node("Mul", {x, build.cast(twice(x), DType::f32)});
  EXPECT_EQ(emitted(build), "Shape+ Gather+ Mul+ Cast+ Mul");
  // A number that the call is given sizes something.
  build.node("Add", {build.size(made.input(DType::i64)), build.integer(1)});
  EXPECT_EQ(emitted(build), "Add+");
  // Of a result the sizes are the meaning.
  const Value other = twice(x);
  build.mark_result(twice(x));
  EXPECT_TRUE(other);
  EXPECT_EQ(emitted(build), "Shape+ Gather+ Mul+ Shape Gather Mul");
}

TEST(Builder, NodesInBodiesAreCounted) {
  Made made(13);
  Builder& build = made.builder;
  const Value x = made.input(DType::f32), condition = made.input(DType::boolean);
  const auto then_branch = build.begin_body();
  build.end_body({build.node("Relu", {x})});
  const auto else_branch = build.begin_body();
  build.end_body({build.again(x)});
  build.control("If", {condition}, {{"then_branch", then_branch}, {"else_branch", else_branch}}, {DType::f32}, {false});
  EXPECT_EQ(emitted(build), "Relu Identity+ If");
}

// Rows and plugins of users may say what no schema takes.
TEST(Builder, AttributesAreOfTheirTypes) {
  Made made(13);
  const Value x = made.input(DType::f32);
  EXPECT_EQ(refusal([&] { made.builder.node("Cast", {x}, {}, DType::i64); }), "Cast needs its attribute to");
  EXPECT_EQ(refusal([&] { made.builder.node("Cast", {x}, {{"to", 99}}, DType::i64); }), "Cast: 99 is the number of no dtype");
  EXPECT_EQ(refusal([&] {
              made.builder.node("Elu", {x}, {{"alpha", "much"}});
            }),
            "the attribute alpha of Elu is FLOAT, and STRING is given");
  EXPECT_EQ(refusal([&] {
              made.builder.node("Transpose", {x}, {{"perm", 1}});
            }),
            "the attribute perm of Transpose is INTS, and INT is given");
  EXPECT_EQ(refusal([&] { made.builder.node("Elu", {x}, {{"alpha", 2}}); }), "not refused");  // whole numbers are floats
}

TEST(Builder, AxesOfConstantsAreThereAndStandOnce) {
  Made made(13);
  const Value pair = made.builder.ints({1, 2});
  EXPECT_EQ(refusal([&] { made.builder.unsqueeze(pair, {5}); }), "there is no dimension 5");
  EXPECT_EQ(refusal([&] { made.builder.unsqueeze(pair, {0, 0}); }), "dimension 0 is named twice");
  EXPECT_EQ(refusal([&] { made.builder.squeeze(made.builder.ints({1}), {1}); }), "there is no dimension 1");
  EXPECT_EQ(refusal([&] { made.builder.unsqueeze(pair, {0, 2}); }), "not refused");
}

TEST(Builder, AnInputThatWasAnAttributeTakesAConstant) {
  Made old(9), newer(10);
  const auto topk = [](Made& made, const Value& k) {
    made.builder.nodes("TopK", {made.input(DType::f32)}, 2, {{"k", k}, {"axis", 1}});
  };
  topk(old, old.builder.ints({3}));
  EXPECT_EQ(std::get<std::int64_t>(old.last().attribute("k")->value), 3);
  EXPECT_EQ(refusal([&] { topk(old, old.input(DType::i64)); }), "TopK takes k as a constant before opset 10");
  topk(newer, newer.input(DType::i64));
  EXPECT_EQ(newer.last().inputs.size(), 2u);
}

TEST(Builder, AFloatThatBecameAnInputHasTheTensorsDtype) {
  Made made(13);
  made.builder.node("Clip", {made.input(DType::f64)}, {{"min", 0.5}});
  EXPECT_EQ(made.model.initializers.front().data.dtype, DType::f64);
  EXPECT_TRUE(made.model.initializers.front().data.dims.empty());
}

TEST(Builder, ANewerAttributeMayBeGivenAtItsDefault) {
  Made made(8);
  made.builder.node("MaxPool", {made.input(DType::f32)},
                    {{"kernel_shape", Ints{2, 2}}, {"ceil_mode", 0}, {"dilations", Ints{1, 1}}});
  EXPECT_EQ(made.last().attributes.size(), 1u);
  EXPECT_EQ(refusal([&] {
              made.builder.node("MaxPool", {made.input(DType::f32)}, {{"kernel_shape", Ints{2, 2}}, {"ceil_mode", 1}});
            }),
            "MaxPool has no ceil_mode before opset 10");
}

TEST(Builder, TypesThatNoKernelTakesGoThroughAWiderOneAndBack) {
  Made made(17);
  const Value sum = made.builder.node("ReduceSum", {made.input(DType::i16)}, {{"keepdims", 0}});
  EXPECT_EQ(sum.dtype, DType::i16);
  EXPECT_THAT(made.operators(), ElementsAre("Cast", "ReduceSum", "Cast"));
}

TEST(Builder, WhatWouldLoseValuesIsRefused) {
  Made made(13);
  EXPECT_EQ(refusal([&] { made.builder.node("Relu", {made.input(DType::i64)}); }), "Relu doesn't support i64 before opset 14");
  EXPECT_EQ(refusal([&] { made.builder.node("Gelu", {made.input(DType::f32)}); }), "ONNX has no Gelu before opset 20");
}

TEST(Builder, WhatAnOperatorGivesIsOfItsTypes) {
  Made made(22);
  const Value sizes = made.input(DType::i64);
  const auto fill = [](DType dtype) { return Arguments{{"value", make_tensor(dtype, {1}, Ints{1})}}; };
  EXPECT_EQ(made.builder.node("ConstantOfShape", {sizes}, fill(DType::bf16), DType::bf16).dtype, DType::bf16);
  EXPECT_EQ(made.operators(), (std::vector<std::string>{"ConstantOfShape"}));
  Made older(13);  // in a wider dtype
  const Value made_of_wide = older.builder.node("ConstantOfShape", {older.input(DType::i64)}, fill(DType::bf16), DType::bf16);
  EXPECT_EQ(made_of_wide.dtype, DType::bf16);
  EXPECT_EQ(older.operators(), (std::vector<std::string>{"ConstantOfShape", "Cast"}));
  EXPECT_EQ(std::get<TensorData>(older.model.graph.nodes.front().attribute("value")->value).dtype, DType::f32);
  Made oldest(12);
  EXPECT_EQ(refusal([&] { oldest.builder.node("ConstantOfShape", {oldest.input(DType::i64)}, fill(DType::bf16), DType::bf16); }),
            "ONNX has no tensors of bf16 before opset 13");
  EXPECT_EQ(refusal([&] {
              made.builder.node("EyeLike", {made.input(DType::f32)}, {{"dtype", data_type(DType::c64)}}, DType::c64);
            }),
            "EyeLike gives no c64");
}

// Its tensors would be of one dtype in the file and of another for whoever reads them.
TEST(Builder, ListsKeepTheDtypeOfWhatTheyHold) {
  Made made(17);
  const Value list = made.builder.node("SplitToSequence", {made.input(DType::i8), made.builder.integer(2)}, {}, DType::i8);
  EXPECT_EQ(made.builder.node("SequenceAt", {list, made.builder.integer(0)}).dtype, DType::i8);
  EXPECT_EQ(made.operators(), (std::vector<std::string>{"SplitToSequence", "SequenceAt"}));
  const Value small = made.input(DType::bf16);
  EXPECT_EQ(refusal([&] {
              made.builder.node("SplitToSequence", {small, made.builder.integer(2)}, {}, DType::bf16);
            }),
            "SplitToSequence doesn't support bf16 before opset 24");
  EXPECT_EQ(refusal([&] { made.builder.node("SequenceConstruct", {small}); }), "SequenceConstruct doesn't support bf16");
  EXPECT_EQ(refusal([&] {
              made.builder.node("SequenceEmpty", {}, {{"dtype", data_type(DType::bf16)}}, DType::bf16);
            }),
            "SequenceEmpty gives no sequence of bf16");
}

// ONNX's Optional holds no bf16, and If gives no optional before opset 16.
TEST(Builder, AnOptionalIsAnIf) {
  Made old(15), made(16);
  EXPECT_EQ(refusal([&] { old.builder.optional(old.input(DType::boolean), old.input(DType::f32)); }),
            "ONNX's If gives no optional value before opset 16");
  EXPECT_EQ(old.builder.range().to, 15);
  const Value there = made.input(DType::boolean), value = made.input(DType::f16);
  const Value given = made.builder.optional(there, value);
  EXPECT_EQ(made.operators(), std::vector<std::string>{"If"});
  EXPECT_THAT(made.last().inputs, ElementsAre(there.id));
  EXPECT_TRUE(made.model.values[given.id].optional);
  EXPECT_EQ(made.model.values[given.id].dtype, DType::f16);
  const auto body = [&](const char* name) { return std::get<std::shared_ptr<Graph>>(made.last().attribute(name)->value); };
  EXPECT_THAT(body("then_branch")->nodes.at(0).inputs, ElementsAre(value.id));
  EXPECT_TRUE(body("else_branch")->nodes.at(0).inputs.empty());
  EXPECT_EQ(std::get<TypeData>(body("else_branch")->nodes.at(0).attribute("type")->value).dtype, DType::f16);
  EXPECT_THAT(refusal([&] { made.builder.optional(there, made.input(DType::bf16)); }),
              testing::HasSubstr("no optional tensors of bf16"));
}

// A Loop that carries one value of the dtype, and gives it after each round, too.
std::vector<std::string> looped(Made& made, DType dtype, bool list = false) {
  Builder& b = made.builder;
  const Value start = list ? b.add_input(dtype, std::nullopt, "list", true) : made.input(dtype);
  const auto body = b.begin_body();
  b.body_input(DType::i64);
  const Value go_on = b.body_input(DType::boolean), carried = b.body_input(dtype, list);
  b.end_body({b.node("Identity", {go_on}), b.again(carried)});
  EXPECT_EQ(b.control("Loop", {b.integer(3), {}, start}, {{"body", body}}, {dtype}, {list}).front().dtype, dtype);
  std::vector<std::string> names;
  for (const Node& node : body->nodes) names.push_back(node.op);
  return names;
}

TEST(Builder, WhatALoopDoesntTakeGoesRoundInAWiderDtype) {
  Made made(16), older(15), oldest(12);
  EXPECT_EQ(looped(made, DType::bf16), (std::vector<std::string>{"Identity", "Identity"}));
  EXPECT_EQ(made.operators(), std::vector<std::string>{"Loop"});
  EXPECT_EQ(looped(older, DType::bf16), (std::vector<std::string>{"Cast", "Identity", "Identity", "Cast"}));
  EXPECT_EQ(older.operators(), (std::vector<std::string>{"Cast", "Loop", "Cast"}));
  const Graph& body = *std::get<std::shared_ptr<Graph>>(older.model.graph.nodes[1].attribute("body")->value);
  EXPECT_EQ(older.model.values[body.inputs[2]].dtype, DType::f32);
  EXPECT_EQ(older.model.values[body.outputs[1]].dtype, DType::f32);
  EXPECT_EQ(body.nodes.front().inputs.front(), body.inputs[2]);
  EXPECT_EQ(refusal([&] { looped(oldest, DType::bf16); }), "ONNX has no tensors of bf16 before opset 13");
  EXPECT_EQ(refusal([&] { Made(12).builder.control("Loop", {}, {}, {DType::f32}, {true}); }),
            "Loop doesn't support lists of tensors before opset 13");
  EXPECT_EQ(refusal([&] { Made(13).builder.control("If", {}, {}, {DType::bf16}, {true}); }),
            "If doesn't support lists of bf16 tensors before opset 16");
}

TEST(Builder, MixedDtypesAreADefect) {
  Made made(17);
  EXPECT_THROW(made.builder.node("Add", {made.input(DType::f32), made.input(DType::i64)}), InternalError);
  EXPECT_THROW(made.builder.node("Add", {made.input(DType::f32)}), InternalError);
  EXPECT_THROW(made.builder.node("NoSuchOperator", {}), InternalError);
}

TEST(Builder, TheRangeIsThatOfTheVersionsStated) {
  Made made(12);
  made.builder.node("Add", {made.input(DType::f32), made.input(DType::f32)});  // 7 to 12
  EXPECT_EQ(made.builder.range().from, 7);
  EXPECT_EQ(made.builder.range().to, 12);
  EXPECT_TRUE(made.builder.at_least(11));
  EXPECT_EQ(made.builder.range().from, 11);
}

TEST(Builder, EqualConstantsAreOne) {
  Made made(17);
  EXPECT_EQ(made.builder.ints({1, 2}).id, made.builder.ints({1, 2}).id);
  EXPECT_NE(made.builder.scalar(DType::f32, 1).id, made.builder.scalar(DType::f64, 1).id);
}

TEST(Builder, ConstantsAreFolded) {
  Made made(17);
  Builder& b = made.builder;
  const Value matrix = b.constant(make_tensor(DType::f32, {2, 3}, Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(as_floats(*b.constant_of(b.transpose(matrix, {1, 0}))), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(b.constant_of(b.reshape(matrix, {3, -1}))->dims, (Ints{3, 2}));
  EXPECT_EQ(b.constant_of(b.reshape(matrix, {0, 3, 1}))->dims, (Ints{2, 3, 1}));
  EXPECT_EQ(b.constant_of(b.unsqueeze(matrix, {0, 3}))->dims, (Ints{1, 2, 3, 1}));
  EXPECT_EQ(b.constant_of(b.squeeze(b.unsqueeze(matrix, {1}), {1}))->dims, (Ints{2, 3}));
  EXPECT_EQ(b.ints_of(b.concat({b.ints({1}), b.ints({2, 3})}, 0)), (Ints{1, 2, 3}));
  EXPECT_EQ(b.ints_of(b.gather(b.ints({5, 6, 7}), b.ints({-1, 0}), 0)), (Ints{7, 5}));
  EXPECT_EQ(b.ints_of(b.cast(b.scalar(DType::f32, -1.9), DType::i64)), Ints{-1});
  EXPECT_TRUE(made.model.graph.nodes.empty());
}

TEST(Builder, AWeightInTheFileIsTransposedByItsStrides) {
  Made made(17);
  auto storage = std::make_shared<ir::Storage>();
  storage->in_file = true;
  storage->bytes = 24;
  ir::TensorView view;
  view.sizes = {2, 3};
  view.strides = {3, 1};
  view.storage = storage;
  const TensorData data{.dtype = DType::f32, .dims = {2, 3}, .bytes = {}, .view = view};
  const Value turned = made.builder.transpose(made.builder.constant(data), {1, 0});
  EXPECT_EQ(made.builder.constant_of(turned)->view->strides, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(made.builder.constant_of(turned)->dims, (Ints{3, 2}));
}

}  // namespace
}  // namespace compatcheck::onnx
