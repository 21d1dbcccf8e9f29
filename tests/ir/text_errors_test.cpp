#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_graph(text, {"net.txt"});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextErrors, WholeMessages) {
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%z)\n  return (%y)"),
            "net.txt:2:28: %z is not defined here\n  %y : Tensor = aten::relu(%z)\n                           ^");
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %y : Tensor ! aten::relu(%x)\n  return (%y)"),
            "net.txt:2:15: expected '=' before the operator, found '!'\n  %y : Tensor ! aten::relu(%x)\n              ^");
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %x : Tensor = aten::relu(%x)\n  return (%x)"),
            "net.txt:2:3: %x is defined already\n  %x : Tensor = aten::relu(%x)\n  ^");
  EXPECT_EQ(error_of("def forward(self, x):"),
            "net.txt:1:1: expected 'graph(', as print(model.graph) writes, found 'def'\ndef forward(self, x):\n^");
  EXPECT_EQ(error_of("graph(%x : Float(2, 3, strides=[3 1])):\n  return (%x)"),
            "net.txt:1:35: expected ',' between strides, found '1'\ngraph(%x : Float(2, 3, strides=[3 1])):\n"
            "                                  ^");
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %c : str = prim::Constant[value=\"ab]()\n  return (%x)"),
            "net.txt:2:35: this string doesn't end on its line\n  %c : str = prim::Constant[value=\"ab]()\n"
            "                                  ^");
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  return (%x)\nreturn"),
            "net.txt:3:1: expected the end of the graph, found 'return'\nreturn\n^");
  EXPECT_EQ(error_of(""), "net.txt:1:1: expected 'graph(', as print(model.graph) writes, found the end of the text\n\n^");
}

TEST(TextErrors, IntegersBeyond64Bits) {
  EXPECT_EQ(error_of("graph():\n  %c : int = prim::Constant[value=9223372036854775808]()\n  return (%c)"),
            "net.txt:2:35: an integer beyond 64 bits\n  %c : int = prim::Constant[value=9223372036854775808]()\n"
            "                                  ^");
  for (const std::string_view constant :
       {"%c : int = prim::Constant[value=-9223372036854775809]", "%c : int[] = prim::Constant[value=[1, 99999999999999999999]]",
        "%c : float = prim::Constant[value=99999999999999999999]", "%c : Float(99999999999999999999) = prim::Constant[value={1}]",
        "%c : Long() = prim::Constant[value={99999999999999999999}]",
        "%c : int = prim::Constant[value=0, k=99999999999999999999]"})
    EXPECT_NE(error_of("graph():\n  " + std::string(constant) + "()\n  return (%c)").find("an integer beyond 64 bits"),
              std::string::npos)
        << constant;
  for (const std::string_view constant :
       {"%c : int = prim::Constant[value=-9223372036854775808]", "%c : float = prim::Constant[value=1e20]",
        "%c : float = prim::Constant[value=1e400]", "%c : Tensor = prim::Constant[value={18446744073709551615}]",
        "%c : Tensor = prim::Constant[value= 1e+20 [ CPUFloatType{1} ]]",
        "%c : float = prim::Constant[value=99999999999999999999.]"})
    EXPECT_EQ(error_of("graph():\n  " + std::string(constant) + "()\n  return (%c)"), "no error") << constant;
}

TEST(TextErrors, BlocksThatDontFit) {
  EXPECT_EQ(error_of("graph(%c : bool):\n  %y : int = prim::If(%c)\n    block0():\n      -> ()\n  return (%y)"),
            "net.txt:2:14: an If needs one condition and two blocks\n  %y : int = prim::If(%c)\n             ^");
  EXPECT_NE(error_of("graph(%c : bool):\n  %y : int = prim::Loop(%c)\n  return (%y)").find("a Loop needs"), std::string::npos);
  EXPECT_NE(error_of("graph(%c : bool):\n  return (%c)\nwith prim::fork_0 = graph():\n  return ()")
                .find("no node is called prim::fork_0"),
            std::string::npos);
}

TEST(TextErrors, LongLinesAreCut) {
  const std::string error = error_of("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)" + std::string(5000, ' ') + "!");
  EXPECT_LT(error.size(), 400u);
  EXPECT_NE(error.find("net.txt:2:5031:"), std::string::npos) << error;
}

TEST(TextErrors, DepthIsBounded) {
  const auto many = [](std::size_t count, std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += text;
    return out;
  };
  constexpr std::size_t deep = 200000;
  for (const std::string& type : {many(deep, "("), many(deep, "Dict(str, "), "int" + many(deep, "[]"), many(deep, "List["),
                                  // lists of lists, each with brackets of its own
                                  many(90, "List[") + "int" + many(90, many(90, "[]") + "]")})
    EXPECT_NE(error_of("graph(%x : " + type).find("deep"), std::string::npos);
  for (const std::string& value : {many(deep, "["), many(deep, "("), many(deep, "{\"a\": "), many(deep, "annotate(int, ")})
    EXPECT_NE(error_of("graph():\n  %x : int = prim::Constant[value=" + value).find("deep"), std::string::npos);
  EXPECT_NE(error_of("graph(%c : bool):\n" + many(deep, "  acme::f(%c)\n block0():\n")).find("deep"), std::string::npos);
}

TEST(TextErrors, TruncatedAnywhereIsAnError) {
  const std::string text =
      "graph(%x.1 : Float(2, strides=[1], requires_grad=0, device=cpu)):\n  %c : int[] = prim::Constant[value=[1, 2]]() # "
      "a.py:1:2\n"
      "  %t : Float(2) = prim::Constant[value= 1  2 [ CPUFloatType{2} ]]()\n  %b : bool = ^F[a=1](2)(%x.1), scope: __module.a\n"
      "  %y : Tensor = prim::If(%b)\n    block0():\n      -> (%x.1)\n    block1():\n      -> (%t)\n  return (%y)";
  EXPECT_EQ(error_of(text), "no error");
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(error_of(text.substr(0, size)), "no error") << text.substr(0, size);
}

}  // namespace
}  // namespace compatcheck::ir
