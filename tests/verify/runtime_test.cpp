// The places in ONNX Runtime's table, by what is found there.
#include "verification/runtime.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <fstream>

#include "compatcheck/error.h"
#include "tensors.h"

namespace compatcheck::verification {
namespace {

using ir::DType;
using testing::elements;
using testing::tensor;

const Runtime& runtime() {
  static const Runtime loaded;
  return loaded;
}

Session open(const std::string& text, const SessionOptions& options = {}) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser(text.c_str()).Parse(model);
  if (!status.IsOK()) throw InternalError(status.ErrorMessage());
  const auto file = std::filesystem::path(::testing::TempDir()) / "runtime_test.onnx";
  std::ofstream(file, std::ios::binary) << model.SerializeAsString();
  return runtime().open(file, options);
}

std::string model(const std::string& graph) { return "<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph; }

TEST(Runtime, SaysItsVersion) {
  EXPECT_TRUE(runtime().version().starts_with("1.")) << runtime().version();
  EXPECT_TRUE(std::filesystem::exists(runtime().library()));
}

TEST(Runtime, RunsWhatItIsGiven) {
  const auto session =
      open(model("g (float[n] x, float[n] y) => (float[n] sum, float[n] product) { sum = Add(x, y) product = Mul(x, y) }"));
  EXPECT_EQ(session.inputs(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(session.outputs(), (std::vector<std::string>{"sum", "product"}));
  const auto results = session.run({{tensor<float>(DType::f32, {2}, {1, 2})}, {tensor<float>(DType::f32, {2}, {3, 4})}});
  EXPECT_EQ(elements<float>(*results.at(0).get<ir::TensorView>()), (std::vector<float>{4, 6}));
  EXPECT_EQ(elements<float>(*results.at(1).get<ir::TensorView>()), (std::vector<float>{3, 8}));
}

TEST(Runtime, EveryDtypeComesBack) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"float", DType::f32}, {"double", DType::f64},  {"float16", DType::f16}, {"bfloat16", DType::bf16},
      {"int64", DType::i64}, {"int32", DType::i32},   {"int16", DType::i16},   {"int8", DType::i8},
      {"uint8", DType::u8},  {"bool", DType::boolean}};
  for (const auto& [name, dtype] : types) {
    const auto session = open(model("g (" + name + "[2, k] x) => (" + name + "[2, k] y) { y = Identity(x) }"));
    std::vector<std::uint8_t> bytes(2 * 3 * ir::element_bytes(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(dtype == DType::boolean ? i % 2 : i);
    auto given = tensor<std::uint8_t>(dtype, {2, 3}, bytes);
    const auto results = session.run({{given}});
    const auto* found = results.at(0).get<ir::TensorView>();
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->dtype, dtype) << name;
    EXPECT_EQ(found->sizes, (std::vector<std::int64_t>{2, 3})) << name;
    EXPECT_EQ(found->storage->data, bytes) << name;
  }
}

TEST(Runtime, EmptyTensorsAndScalars) {
  const auto session = open(model("g (float[n, 3] x, float s) => (float[n, 3] y, float t) { y = Neg(x) t = Neg(s) }"));
  const auto results = session.run({{tensor<float>(DType::f32, {0, 3}, {})}, {2.5}});
  EXPECT_EQ(results.at(0).get<ir::TensorView>()->sizes, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(elements<float>(*results.at(1).get<ir::TensorView>()), (std::vector<float>{-2.5}));
}

TEST(Runtime, SequencesAreLists) {
  const auto session = open(
      model("g (seq(float[n]) x) => (seq(float[n]) y, float[m] z) { y = SequenceErase(x) z = ConcatFromSequence<axis = 0>(x) }"));
  const ir::Constant list{
      ir::ListConstant{nullptr, {{tensor<float>(DType::f32, {1}, {1})}, {tensor<float>(DType::f32, {2}, {2, 3})}}}};
  const auto results = session.run({list});
  const auto* erased = results.at(0).get<ir::ListConstant>();
  ASSERT_TRUE(erased);
  ASSERT_EQ(erased->items.size(), 1U);
  EXPECT_EQ(elements<float>(*erased->items[0].get<ir::TensorView>()), (std::vector<float>{1}));
  EXPECT_EQ(elements<float>(*results.at(1).get<ir::TensorView>()), (std::vector<float>{1, 2, 3}));
}

TEST(Runtime, OptionalsWithoutAValueAreNone) {
  const auto session =
      open(model("g (bool c) => (optional(float[1]) y) { y = If(c) <then_branch = t () => (optional(float[1]) a) { a = "
                 "Optional<type = float[1]>() },"
                 " else_branch = e () => (optional(float[1]) b) { k = Constant<value = float[1] {1.0}>() b = Optional(k) }> }"));
  EXPECT_TRUE(session.run({{true}}).at(0).is_none());
  EXPECT_TRUE(session.run({{false}}).at(0).get<ir::TensorView>());
}

TEST(Runtime, ItsOwnWordsComeThrough) {
  EXPECT_THROW(open(model("g (float[n] x) => (float[n] y) { y = NoSuchOperator(x) }")), ModelError);
  const auto session = open(model("g (float[2] x) => (float[2] y) { y = Neg(x) }"), {.optimize = Optimize::no});
  try {
    session.run({{tensor<float>(DType::f32, {3}, {1, 2, 3})}});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("Got: 3 Expected: 2"), std::string::npos) << error.what();
  }
}

constexpr const char* endless =
    "g (float[2] x) => (float[2] y) { go = Constant<value = bool {1}>() "
    "y = Loop(, go, x) <body = b (int64 i, bool on, float[2] held) => (bool still, float[2] next) "
    "{ still = Identity(on) next = Neg(held) }> }";

TEST(Runtime, EndsRunsThatTakeTooLong) {
  onnx::ModelProto made;
  ASSERT_TRUE(onnx::OnnxParser(model(endless).c_str()).Parse(made).IsOK());
  const auto session = Runtime({}, {}, {.seconds = 0.2}).open_bytes(made.SerializeAsString());
  try {
    session.run({{tensor<float>(DType::f32, {2}, {1, 2})}});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("was stopped after 0.2 s"), std::string::npos) << error.what();
  }
}

TEST(Runtime, EndsRunsThatAreCancelled) {
  onnx::ModelProto made;
  ASSERT_TRUE(onnx::OnnxParser(model(endless).c_str()).Parse(made).IsOK());
  const Runtime cancelled({}, {}, {.cancelled = [] { return true; }});
  EXPECT_THROW(cancelled.open_bytes(made.SerializeAsString()).run({{tensor<float>(DType::f32, {2}, {1, 2})}}), Cancelled);
}

TEST(Runtime, SaysWhereItLooked) { EXPECT_THROW(Runtime("/nowhere"), UsageError); }

}  // namespace
}  // namespace compatcheck::verification
