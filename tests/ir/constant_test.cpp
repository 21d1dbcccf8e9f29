#include "ir/constant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/literal.h"
#include "ir/number_text.h"
#include "ir/tensor_literal.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

Constant constant(const std::string& type, const std::string& value) {
  const Graph graph = parse_graph("graph():\n  %c : " + type + " = prim::Constant[value=" + value + "]()\n  return (%c)");
  return *constant_of(graph.outputs()[0]);
}

std::vector<double> reals(const Constant& c) {
  const auto elements = elements_of(*c.get<TensorView>());
  std::vector<double> out;
  for (const Element& element : elements.value()) out.push_back(static_cast<double>(element.real()));
  return out;
}

TEST(Constant, TakesTheTypeOfItsValue) {
  EXPECT_EQ(*constant("bool", "1").get<bool>(), true);
  EXPECT_EQ(*constant("float", "1").get<double>(), 1.0);
  EXPECT_EQ(*constant("int", "-9223372036854775808").get<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(constant("Device", "\"cuda:0\"").get<DeviceConstant>()->device, "cuda:0");
  EXPECT_EQ(*constant("complex", "(1,-2)").get<std::complex<double>>(), std::complex<double>(1, -2));
  EXPECT_EQ(*constant("complex", "1.+2.j").get<std::complex<double>>(), std::complex<double>(1, 2));
  EXPECT_EQ(constant("__torch__.Colour", "__torch__.Colour.RED").get<EnumConstant>()->name, "RED");
  EXPECT_EQ(constant("__torch__.Packed", "object(0x55d0)").get<OpaqueConstant>()->type_name, "object");
  EXPECT_EQ(constant("__torch__.Net", "object(7)").get<ObjectConstant>()->object, 7u);
  EXPECT_EQ(*constant("str", R"("a\"\n\303\251\\")").get<std::string>(), "a\"\né\\");
  EXPECT_TRUE(std::isnan(*constant("float", "nan").get<double>()));
  EXPECT_EQ(*constant("float", "-inf").get<double>(), -HUGE_VAL);
  EXPECT_TRUE(constant("int?", "None").is_none());
  EXPECT_TRUE(is(constant("Dict(str, int[])", "{\"a\": []}").get<DictConstant>()->value, TypeKind::list));
}

TEST(Constant, PrintedTensors) {
  EXPECT_EQ(reals(constant("Float(3)", "    1.5000     2.0000  3000.0000 [ CPUFloatType{3} ]")),
            (std::vector<double>{1.5, 2, 3000}));
  EXPECT_FLOAT_EQ(
      static_cast<float>(reals(constant("Float(2, 2)", "0.01 *  1.0000  2.0000  3.0000  4.0000 [ CPUFloatType{2,2} ]"))[3]),
      0.04F);
  // The first index runs fastest where torch prints matrices one by one.
  EXPECT_EQ(
      reals(constant("Long(2, 2, 1, 2)",
                     "(1,1,.,.) =   1  2  (2,1,.,.) =   5  6  (1,2,.,.) =   3  4  (2,2,.,.) =   7  8 [ CPULongType{2,2,1,2} ]")),
      (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(reals(constant("Long(2, 3)", "Columns 1 to 2  1  2   4  5  Columns 3 to 3  3   6 [ CPULongType{2,3} ]")),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reals(constant("Float(0)", "[ CPUFloatType{0} ]")), std::vector<double>{});
  EXPECT_EQ(reals(constant("Half(1, 1)", "{0.1}"))[0], from_half(to_half(0.1)));
  EXPECT_EQ(constant("Half(1, 1)", "{0.1}").get<TensorView>()->sizes, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(elements_of(*constant("Long()", "{9223372036854775807}").get<TensorView>())->at(0).real(), 9223372036854775807.0L);
  const Constant withheld = constant("Double(5, 6, strides=[1, 5], device=cuda:0)", "<Tensor>");
  const TensorView& tensor = *withheld.get<TensorView>();
  EXPECT_EQ(tensor.dtype, DType::f64);
  EXPECT_EQ(tensor.strides, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(tensor.device, "cuda:0");
  EXPECT_EQ(tensor.storage, nullptr);
}

TEST(Constant, EqualityIsDeep) {
  const Constant nan{std::nan("")}, zero{0.0}, minus_zero{-0.0}, one{std::int64_t{1}}, truth{true};
  EXPECT_TRUE(equal(nan, nan));
  EXPECT_FALSE(equal(zero, minus_zero));  // 1/x tells them apart
  EXPECT_FALSE(equal(one, truth));
  EXPECT_TRUE(equal(constant("Dict(str, int)", "{\"a\": 1}"), constant("Dict(str, int)", "{\"a\": 1}")));
  EXPECT_FALSE(equal(constant("int[]", "[]"), constant("float[]", "[]")));
  EXPECT_TRUE(equal(constant("Float(2)", " 1  2 [ CPUFloatType{2} ]"), constant("Float(2)", " 1  2 [ CPUFloatType{2} ]")));
  EXPECT_FALSE(equal(constant("Float(2)", " 1  2 [ CPUFloatType{2} ]"), constant("Float(2)", " 1  3 [ CPUFloatType{2} ]")));
}

TEST(Constant, PrintsAsItReads) {
  for (const char* text : {"None", "True", "1", "1.", "-0.", "1e-05", "0.1", "1.+2.j", "[1, 2]", "(1, \"a\")", "(1,)", "()",
                           "{\"a\": [1.5, 2.]}", "annotate(int[], [])", "annotate(Dict(str, Tensor), {})",
                           "torch.device(\"cuda:0\")", "[annotate(float[], []), annotate(float[], [])]", "object(3)"}) {
    Scanner scanner(text, "text", [](const Fault& fault) { throw std::runtime_error(fault.whole); });
    EXPECT_EQ(print(read_literal(scanner)), text);
    EXPECT_TRUE(scanner.at_end()) << text;
  }
}

TEST(TensorView, Contiguity) {
  TensorView view;
  view.sizes = {2, 1, 3};
  view.strides = {3, 99, 1};
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(view.elements(), 6);
  view.strides = {1, 99, 2};
  EXPECT_FALSE(view.contiguous());
  view.sizes = {INT64_MAX, 4};
  EXPECT_EQ(view.elements(), INT64_MAX);
}

TEST(Numbers, SixteenBitFormats) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_half(half))) {
      EXPECT_EQ(to_half(from_half(half)), half);
    }
    if (!std::isnan(from_bfloat(half))) {
      EXPECT_EQ(to_bfloat(from_bfloat(half)), half);
    }
  }
  EXPECT_EQ(to_half(65520), 0x7c00);
  EXPECT_EQ(to_half(65519.99), 0x7bff);
  EXPECT_EQ(from_half(to_half(1 + std::ldexp(1, -11))), 1.0);  // a tie goes to even
}

}  // namespace
}  // namespace compatcheck::ir
