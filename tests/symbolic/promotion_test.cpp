#include "symbolic/promotion.h"

#include <gtest/gtest.h>

#include <complex>
#include <fstream>
#include <sstream>

namespace compatcheck::symbolic {
namespace {

std::string spell(std::optional<ir::DType> dtype) { return dtype ? std::string(ir::name(*dtype)) : "-"; }

Fact tensor(const std::string& dtype, Shape shape) {
  return {.value = TensorFact{.dtype = ir::dtype_from_name(dtype), .shape = std::move(shape)}};
}

Fact number(const std::string& kind) {
  if (kind == "complex") return {.value = ConstantFact{ir::Constant{std::complex<double>(0, 1)}}};
  if (kind == "float") return {.value = NumberFact{.kind = NumberFact::Kind::floating}};
  return {.value = NumberFact{.kind = kind == "int" ? NumberFact::Kind::integer : NumberFact::Kind::boolean}};
}

std::string promoted(const Fact& a, const Fact& b) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return spell(promotion.result());
}

std::string result(const std::string& kind, const std::string& a, const std::string& b) {
  if (kind == "types") return spell(promote_types(*ir::dtype_from_name(a), *ir::dtype_from_name(b)));
  if (kind == "dimensioned") return promoted(tensor(a, {1}), tensor(b, {}));
  return promoted(tensor(a, kind == "number" ? Shape{1} : Shape{}), number(b));
}

// What torch says, promotion.tsv, line by line.
TEST(Promotion, IsTorchs) {
  std::ifstream table(COMPATCHECK_SOURCE_DIR "/tests/symbolic/promotion.tsv");
  int lines = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kind, a, b, expected;
    words >> kind >> a >> b >> expected;
    EXPECT_EQ(result(kind, a, b), expected) << line;
    ++lines;
  }
  EXPECT_GT(lines, 500);
}

TEST(Promotion, UnknownOperandsLeaveItOpen) {
  EXPECT_EQ(promoted(tensor("f32", {1}), {.value = TensorFact{.dtype = ir::DType::f64}}), "-");  // perhaps without dimensions
  EXPECT_EQ(promoted(tensor("f32", {1}), {.value = TensorFact{.shape = Shape{1}}}), "-");
  EXPECT_EQ(promoted(tensor("f32", {1}), Fact{}), "-");
  EXPECT_EQ(promoted(tensor("i64", {1}), {.value = NoneFact{}}), "i64");
  // What is the same for every rank is known.
  EXPECT_EQ(promoted({.value = TensorFact{.dtype = ir::DType::f64}}, tensor("f32", {})), "f64");
  EXPECT_EQ(promoted({.value = TensorFact{.dtype = ir::DType::f16}}, number("int")), "f16");
  EXPECT_EQ(promoted({.value = TensorFact{.dtype = ir::DType::i32}}, number("float")), "f32");
  EXPECT_EQ(promoted({.value = TensorFact{.dtype = ir::DType::i64}}, {.value = TensorFact{.dtype = ir::DType::i64}}), "i64");
}

}  // namespace
}  // namespace compatcheck::symbolic
