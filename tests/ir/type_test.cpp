#include "ir/type.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace compatcheck::ir {
namespace {

std::string again(std::string_view text) { return to_string(*parse_type(text)); }

TEST(Type, SpellingSurvives) {
  for (const char* text : {"Tensor",
                           "Tensor?",
                           "Tensor[]",
                           "Tensor?[]",
                           "int[]",
                           "int[][]?",
                           "Float(2, 3)",
                           "Float(*, 3)",
                           "Float(*)",
                           "Float()",
                           "FloatTensor",
                           "Half(2, 3, strides=[3, 1], requires_grad=0, device=cpu)",
                           "Long(requires_grad=1, device=cuda:0)",
                           "BFloat16Tensor(device=cpu)",
                           "Float8_e4m3fn(2)",
                           "Tensor(*, *)",
                           "(int, Tensor)",
                           "()",
                           "(())",
                           "((), (int))",
                           "Dict(str, Tensor)",
                           "Future[Tensor]",
                           "Union(int, str, NoneType)",
                           "Await[(int, float)]",
                           "RRef[Tensor]",
                           "NamedTuple(x : Tensor, y : int)",
                           "NamedTuple[__torch__.Point](x : Tensor)",
                           "__torch__.a.b.___torch_mangle_0.Net",
                           "Scalar",
                           "Device",
                           "Any",
                           "list",
                           "tuple",
                           "AnyClassType",
                           "Generator",
                           "Dict(str, (int, Float(2)?)[])"})
    EXPECT_EQ(again(text), text);
}

TEST(Type, OtherSpellingsAreUnderstood) {
  EXPECT_EQ(again("List[Dict[str, Optional[Tensor]]]"), "Dict(str, Tensor?)[]");
  EXPECT_EQ(again("Tuple[int, Tensor]"), "(int, Tensor)");
  EXPECT_EQ(again("Tuple[()]"), "()");
  EXPECT_EQ(again("Enum<__torch__.Colour>"), "__torch__.Colour");
  EXPECT_EQ(again("InterfaceType<__torch__.Layer>"), "__torch__.Layer");
  EXPECT_EQ(again("Future(Tensor)"), "Future[Tensor]");
  EXPECT_EQ(again("number"), "Scalar");
  EXPECT_EQ(again("Float(batch, SS(-2), 3)"), "Float(*, *, 3)");
  EXPECT_EQ(again("Float(2)[Undefined]"), "Float(2)");
}

TEST(Type, MembersOfATensor) {
  const TypeRef type = parse_type("Double(2, *, strides=[3, *], requires_grad=1, device=cuda:1)");
  EXPECT_EQ(type->tensor.dtype, DType::f64);
  EXPECT_EQ(*type->tensor.sizes, (std::vector<std::optional<std::int64_t>>{2, std::nullopt}));
  EXPECT_EQ(*type->tensor.strides, (std::vector<std::optional<std::int64_t>>{3, std::nullopt}));
  EXPECT_EQ(type->tensor.requires_grad, true);
  EXPECT_EQ(type->tensor.device, "cuda:1");
  EXPECT_EQ(parse_type("Float()")->tensor.sizes->size(), 0u);
  EXPECT_FALSE(parse_type("FloatTensor")->tensor.sizes.has_value());
}

TEST(Type, EqualityAndStructure) {
  const TypeRef a = parse_type("Dict(str, Float(2)[])"), b = parse_type("Dict(str, Long(*)[])");
  EXPECT_FALSE(equal(*a, *b));
  EXPECT_TRUE(same_structure(*a, *b));
  EXPECT_FALSE(same_structure(*a, *parse_type("Dict(str, int[])")));
  EXPECT_FALSE(same_structure(*parse_type("(int, int)"), *parse_type("(int)")));
  EXPECT_TRUE(equal(*parse_type("Float(2, 3)"), *parse_type("Float( 2,3 )")));
  EXPECT_TRUE(is_tensor_list(parse_type("Float(2)[]")));
  EXPECT_FALSE(is_tensor_list(parse_type("Tensor?[]")));
}

TEST(DType, NamesAndNumbersAreTorchs) {
  for (int number = -1; number < 50; ++number) {
    const auto dtype = dtype_from_number(number);
    if (!dtype) continue;
    EXPECT_EQ(static_cast<int>(*dtype), number);
    EXPECT_EQ(dtype_from_name(name(*dtype)), dtype);
    EXPECT_EQ(dtype_from_torch_name(torch_name(*dtype)), dtype);
    EXPECT_EQ(is_floating(*dtype) + is_complex(*dtype) + is_integral(*dtype) + is_quantized(*dtype),
              *dtype == DType::boolean ? 0 : 1);
  }
  EXPECT_EQ(dtype_from_number(6), DType::f32);
  EXPECT_EQ(dtype_from_number(18), std::nullopt);  // a bit type
  EXPECT_EQ(element_bytes(DType::c128), 16u);
  EXPECT_EQ(element_bytes(DType::qu4x2), 0u);
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

}  // namespace
}  // namespace compatcheck::ir
