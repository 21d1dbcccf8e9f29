#include "onnx/computation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace compatcheck::onnx {
namespace {

using ir::DType;
using testing::ElementsAre;
using Dims = std::vector<std::int64_t>;
using Tensors = std::vector<TensorData>;
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

TensorData floats(const Dims& dims, const std::vector<double>& numbers) { return make_tensor(DType::f32, dims, numbers); }
TensorData ints(const Dims& dims, const Dims& numbers, DType dtype = DType::i64) { return make_tensor(dtype, dims, numbers); }
TensorData vector(const Dims& numbers) { return ints({static_cast<std::int64_t>(numbers.size())}, numbers); }

// The result, whose dtype and dims must be those that were stated before it was computed.
std::optional<TensorData> computed(const std::string& op, const Tensors& tensors, std::vector<NodeAttribute> attributes = {}) {
  Node node{.op = op, .domain = {}, .inputs = {}, .outputs = {1}, .attributes = std::move(attributes), .name = {}};
  std::vector<Operand> operands;
  for (const TensorData& tensor : tensors) operands.push_back({tensor.dtype, tensor.dims, &tensor});
  std::vector<const Operand*> given;
  std::vector<const TensorData*> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) given.push_back(&operands[i]), values.push_back(&tensors[i]);
  const auto computation = computation_of(node, given);
  if (!computation) return std::nullopt;
  auto made = computation->run(values);
  if (made) {
    EXPECT_EQ(made->dtype, computation->dtype) << op;
    EXPECT_EQ(made->dims, computation->dims) << op;
    EXPECT_EQ(made->bytes.size(), static_cast<std::size_t>(made->elements()) * ir::element_bytes(made->dtype)) << op;
  }
  return made;
}

void expect(const std::string& op, const Tensors& tensors, std::vector<NodeAttribute> attributes, const TensorData& expected) {
  const auto made = computed(op, tensors, std::move(attributes));
  ASSERT_TRUE(made) << op;
  EXPECT_EQ(made->dtype, expected.dtype) << op;
  EXPECT_EQ(made->dims, expected.dims) << op;
  EXPECT_EQ(made->bytes, expected.bytes) << op;
}

TEST(Computation, OperatorsThatMoveElements) {
  const TensorData x = ints({2, 3}, {0, 1, 2, 3, 4, 5}, DType::u8);
  const auto of = [](const Dims& dims, const Dims& numbers) { return ints(dims, numbers, DType::u8); };
  expect("Transpose", {x}, {{"perm", Dims{1, 0}}}, of({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect("Transpose", {x}, {}, of({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect("Reshape", {x, vector({0, -1, 1})}, {}, of({2, 3, 1}, {0, 1, 2, 3, 4, 5}));
  expect("Unsqueeze", {x, vector({-1, 0})}, {}, of({1, 2, 3, 1}, {0, 1, 2, 3, 4, 5}));
  expect("Squeeze", {of({1, 2}, {7, 8})}, {{"axes", Dims{0}}}, of({2}, {7, 8}));
  expect("Expand", {of({2, 1}, {7, 8}), vector({1, 3})}, {}, of({2, 3}, {7, 7, 7, 8, 8, 8}));
  expect("Slice", {x, vector({-2}), vector({lowest + 1}), vector({1})}, {}, of({2, 0}, {}));
  expect("Slice", {x, vector({0, 1}), vector({9, 3}), vector({1, 0}), vector({2, 1})}, {}, of({1, 2}, {3, 5}));
  expect("Gather", {x, vector({-1, 0})}, {{"axis", std::int64_t{1}}}, of({2, 2}, {2, 0, 5, 3}));
  expect("Concat", {x, of({2, 1}, {8, 9})}, {{"axis", std::int64_t{-1}}}, of({2, 4}, {0, 1, 2, 8, 3, 4, 5, 9}));
  expect("Where", {ints({2, 1}, {1, 0}, DType::boolean), x, of({}, {9})}, {}, of({2, 3}, {0, 1, 2, 9, 9, 9}));
}

TEST(Computation, OperatorsThatMakeTensors) {
  expect("Shape", {floats({4, 0, 2}, {})}, {}, vector({4, 0, 2}));
  expect("ConstantOfShape", {vector({2, 2})}, {{"value", ints({1}, {7})}}, ints({2, 2}, {7, 7, 7, 7}));
  expect("ConstantOfShape", {vector({2})}, {}, floats({2}, {0, 0}));
}

TEST(Computation, FloatsAreRoundedOnce) {
  const TensorData a = floats({2, 1}, {1, 3}), b = floats({2}, {3, 10});
  expect("Div", {a, b}, {}, floats({2, 2}, {1.0 / 3, 0.1, 1, 0.3}));
  expect("Less", {a, b}, {}, ints({2, 2}, {1, 1, 0, 1}, DType::boolean));
  expect("Sqrt", {b}, {}, floats({2}, {std::sqrt(3), std::sqrt(10)}));
  expect("Max", {a, b}, {}, floats({2, 2}, {3, 10, 3, 10}));
  expect("ReduceMean", {floats({2, 2}, {1, 2, 4, 8})}, {{"axes", Dims{-1}}, {"keepdims", std::int64_t{0}}},
         floats({2}, {1.5, 6}));
  expect("ReduceL2", {floats({1, 2}, {3, 4})}, {}, floats({1, 1}, {5}));
  EXPECT_FALSE(computed("Max", {a, floats({2}, {0, std::nan("")})}));  // machines differ
  EXPECT_FALSE(computed("ReduceMax", {a}));
}

TEST(Computation, IntegersAreThoseOfMachines) {
  expect("Div", {vector({-7, 7}), vector({2})}, {}, vector({-3, 3}));
  expect("Mod", {vector({-7, 7}), vector({4})}, {}, vector({1, 3}));
  expect("Mod", {vector({-7, 7}), vector({-4})}, {}, vector({-3, -1}));
  expect("Sub", {vector({lowest}), vector({1})}, {}, vector({std::numeric_limits<std::int64_t>::max()}));
  expect("Add", {ints({1}, {250}, DType::u8), ints({1}, {10}, DType::u8)}, {}, ints({1}, {4}, DType::u8));
  expect("Neg", {vector({lowest, 3})}, {}, vector({lowest, -3}));
  expect("ReduceSum", {vector({3, 4}), vector({0})}, {{"keepdims", std::int64_t{0}}}, ints({}, {7}));
  expect("ReduceMin", {vector({3, -4})}, {}, ints({1}, {-4}));
  EXPECT_FALSE(computed("Div", {vector({1}), vector({0})}));
  EXPECT_FALSE(computed("Div", {vector({lowest}), vector({-1})}));
  EXPECT_FALSE(computed("Mod", {vector({1}), vector({0})}));
}

TEST(Computation, CastsThatMachinesAgreeOn) {
  const auto to = [](DType dtype) { return std::vector<NodeAttribute>{{"to", std::int64_t{data_type(dtype)}}}; };
  expect("Cast", {floats({2}, {-1.5, 2.5})}, to(DType::i64), vector({-1, 2}));
  expect("Cast", {vector({0, -3})}, to(DType::boolean), ints({2}, {0, 1}, DType::boolean));
  expect("Cast", {ints({1}, {1}, DType::boolean)}, to(DType::f32), floats({1}, {1}));
  EXPECT_FALSE(computed("Cast", {floats({1}, {300})}, to(DType::u8)));
  EXPECT_FALSE(computed("Cast", {floats({1}, {std::nan("")})}, to(DType::i64)));
}

TEST(Computation, WhatWouldFailOrIsNotKnownIsLeft) {
  const TensorData x = ints({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_FALSE(computed("Gather", {x, vector({3})}, {{"axis", std::int64_t{1}}}));
  EXPECT_FALSE(computed("Gather", {x, vector({0})}, {{"axis", std::int64_t{2}}}));
  EXPECT_FALSE(computed("Reshape", {x, vector({4, -1})}));
  EXPECT_FALSE(computed("Squeeze", {x}, {{"axes", Dims{0}}}));
  EXPECT_FALSE(computed("Transpose", {x}, {{"perm", Dims{0, 0}}}));
  EXPECT_FALSE(computed("Transpose", {x}, {{"perm", Dims{-1, 0}}}));  // ONNX counts from 0
  EXPECT_FALSE(computed("ConstantOfShape", {vector({-1})}));
  EXPECT_FALSE(computed("Expand", {vector({1}), vector({-1})}));
  EXPECT_FALSE(computed("Reshape", {x, vector({-1, -1})}));
  EXPECT_FALSE(computed("Concat", {x, ints({2}, {0, 0})}, {{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(computed("Concat", {x, ints({1, 2}, {0, 0})}, {{"axis", std::int64_t{0}}}));
  EXPECT_FALSE(computed("Add", {x, vector({1, 2})}));
  EXPECT_FALSE(computed("Slice", {x, vector({0}), vector({2}), vector({0}), vector({0})}));
  EXPECT_FALSE(computed("ReduceSum", {x, vector({2})}));
  EXPECT_FALSE(computed("Conv", {x, x}));
}

}  // namespace
}  // namespace compatcheck::onnx
