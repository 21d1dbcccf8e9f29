// Expected values are what torch 2.13 gives for the same one-node graphs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text.h"
#include "passes/passes.h"

namespace compatcheck::passes {
namespace {

struct Argument {
  std::string type, value;
};

struct Row {
  std::string op;
  std::vector<Argument> arguments;
  std::string type;
  std::string result;  // as the notation writes it; empty: not computed
};

Argument i(const std::string& v) { return {"int", v}; }
Argument f(const std::string& v) { return {"float", v}; }
Argument b(const std::string& v) { return {"bool", v}; }
Argument s(const std::string& v) { return {"str", "\"" + v + "\""}; }
Argument l(const std::string& v) { return {"int[]", v}; }

std::string computed(const Row& row) {
  std::string text = "graph():\n";
  std::string names;
  for (std::size_t n = 0; n < row.arguments.size(); ++n) {
    const std::string name = "%a" + std::to_string(n);
    text += "  " + name + " : " + row.arguments[n].type + " = prim::Constant[value=" + row.arguments[n].value + "]()\n";
    names += (n ? ", " : "") + name;
  }
  text += "  %r : " + row.type + " = " + row.op + "(" + names + ")\n  return (%r)\n";
  ir::Graph graph = ir::parse_graph(text);
  Budget budget;
  fold_constants(graph, nullptr, budget);
  const ir::Constant* result = ir::constant_of(graph.outputs()[0]);
  return result ? ir::print(*result) : "";
}

const std::vector<Row> rows = {
    {"aten::add", {i("9223372036854775807"), i("1")}, "int", "-9223372036854775808"},
    {"aten::mul", {i("9223372036854775807"), i("3")}, "int", "9223372036854775805"},
    {"aten::sub", {i("-9223372036854775807"), i("5")}, "int", "9223372036854775804"},
    {"aten::floordiv", {i("-7"), i("2")}, "int", "-4"},
    {"aten::floordiv", {i("7"), i("-2")}, "int", "-4"},
    {"aten::floordiv", {i("6"), i("-2")}, "int", "-3"},
    {"aten::floordiv", {i("1"), i("0")}, "int", ""},
    {"aten::floordiv", {f("-7.5"), f("2.")}, "float", "-4."},
    {"aten::floordiv", {i("7"), f("2.")}, "float", "3."},
    {"aten::remainder", {i("-7"), i("3")}, "int", "2"},
    {"aten::remainder", {i("7"), i("-3")}, "int", "-2"},
    {"aten::remainder", {f("-7.5"), f("3.")}, "float", "1.5"},
    {"aten::remainder", {f("7.5"), f("-3.")}, "float", "-1.5"},
    {"aten::remainder", {i("5"), i("0")}, "int", ""},
    {"aten::div", {i("7"), i("2")}, "float", "3.5"},
    {"aten::pow", {i("2"), i("3")}, "float", "8."},
    {"aten::pow", {i("2"), i("-1")}, "float", "0.5"},
    {"aten::pow", {i("2"), i("3")}, "int", ""},
    {"aten::round", {f("2.5")}, "float", "2."},
    {"aten::round", {f("3.5")}, "float", "4."},
    {"aten::floor", {f("-2.7")}, "int", "-3"},
    {"aten::ceil", {f("2.1")}, "int", "3"},
    {"aten::ceil", {f("1e30")}, "int", ""},
    {"aten::fmod", {f("-7.5"), f("2.")}, "float", "-1.5"},
    {"aten::Int", {f("-2.9")}, "int", "-2"},
    {"aten::Int", {s("12")}, "int", "12"},
    {"aten::Int", {s("0x10")}, "int", ""},
    {"aten::Float", {s("2.5")}, "float", "2.5"},
    {"aten::Bool", {i("2")}, "bool", "True"},
    {"aten::Bool", {f("0.")}, "bool", "False"},
    {"aten::__and__", {i("6"), i("3")}, "int", "2"},
    {"aten::__xor__", {b("1"), b("1")}, "bool", "False"},
    {"aten::__rshift__", {i("-9"), i("1")}, "int", "-5"},
    {"aten::__not__", {b("1")}, "bool", "False"},
    {"aten::eq", {i("1"), f("1.")}, "bool", "True"},
    {"aten::lt", {i("1"), f("1.5")}, "bool", "True"},
    {"aten::eq", {s("a"), s("b")}, "bool", "False"},
    {"aten::eq", {l("[1, 2]"), l("[1, 2]")}, "bool", "True"},
    {"aten::ne", {l("[1, 2]"), l("[1, 3]")}, "bool", "True"},
    {"aten::add", {s("a"), s("b")}, "str", "\"ab\""},
    {"aten::add", {l("[1, 2]"), l("[3]")}, "int[]", "[1, 2, 3]"},
    {"aten::mul", {l("[1, 2]"), i("2")}, "int[]", "[1, 2, 1, 2]"},
    {"aten::slice", {l("[1, 2, 3, 4, 5]"), i("-3"), i("9223372036854775807"), i("2")}, "int[]", "[3, 5]"},
    {"aten::broadcast_shapes", {l("[1, 3]"), l("[2, 5, 1]")}, "int[]", "[2, 5, 3]"},
    {"aten::_infer_size", {l("[0, 1]"), l("[4]")}, "int[]", "[0, 4]"},
    {"aten::slice", {l("[1, 2, 3]"), i("2"), i("1"), i("1")}, "int[]", "annotate(int[], [])"},
    {"aten::slice", {l("[1, 2, 3]"), i("0"), i("3"), i("9223372036854775807")}, "int[]", "[1]"},
    {"aten::__getitem__", {l("[1, 2, 3]"), i("-1")}, "int", "3"},
    {"aten::__getitem__", {l("[1, 2, 3]"), i("3")}, "int", ""},
    {"aten::__contains__", {l("[1, 2]"), i("2")}, "bool", "True"},
    {"prim::min", {l("[3, 1, 2]")}, "int", "1"},
    {"prim::max", {f("1.5"), i("2")}, "float", "2."},
    {"aten::len", {s("abc")}, "int", "3"},
    {"aten::sum", {l("[1, 2, 3]")}, "int", "6"},
    {"aten::index", {l("[5, 6, 7]"), i("6")}, "int", "1"},
    {"aten::__range_length", {i("0"), i("10"), i("3")}, "int", "4"},
    {"aten::__range_length", {i("10"), i("0"), i("-3")}, "int", "4"},
    {"aten::__range_length", {i("5"), i("0"), i("1")}, "int", "0"},
    {"aten::__range_length", {i("0"), i("1"), i("0")}, "int", ""},
    {"aten::__derive_index", {i("2"), i("5"), i("-2")}, "int", "1"},
    {"aten::sqrt", {i("4")}, "float", "2."},
    {"prim::abs", {i("-3")}, "int", "3"},
    {"aten::neg", {f("2.5")}, "float", "-2.5"},
    {"aten::gcd", {i("12"), i("18")}, "int", "6"},
    {"aten::format", {s("a{}b{}"), i("3"), s("x")}, "str", "\"a3bx\""},
    {"aten::format", {s("{"), i("3")}, "str", ""},
    {"aten::format", {s("{}_{}"), f("0.5"), s("x")}, "str", "\"0.5_x\""},
    {"aten::str", {f("1.0")}, "str", "\"1.\""},
    {"aten::str", {f("0.1")}, "str", "\"0.10000000000000001\""},
    {"aten::str", {f("-1e18")}, "str", "\"-1000000000000000000.\""},
    {"aten::str", {f("1e19")}, "str", "\"1e+19\""},
    {"aten::str", {f("9.2233720368547758e+18")}, "str", "\"9.2233720368547758e+18\""},
    {"aten::str", {b("1")}, "str", "\"True\""},
    {"aten::lower", {s("AbC")}, "str", "\"abc\""},
    {"aten::split", {s("a,,b"), s(","), i("-1")}, "str[]", "[\"a\", \"\", \"b\"]"},
    {"aten::split", {s(""), s(","), i("-1")}, "str[]", "[\"\"]"},
    {"aten::split", {s("a"), s(""), i("-1")}, "str[]", ""},
    {"aten::split", {s(" a  b "), {"NoneType", "None"}, i("-1")}, "str[]", "[\"a\", \"b\"]"},
    {"aten::split", {s("a,b"), s(","), i("1")}, "str[]", ""},
    {"aten::join", {s("-"), {"str[]", "[\"a\", \"b\"]"}}, "str", "\"a-b\""},
    {"aten::strip", {s("xxaxx"), s("x")}, "str", "\"a\""},
    {"aten::strip", {s("xx"), s("x")}, "str", "\"\""},
    {"aten::lstrip", {s(" a "), s(" ")}, "str", "\"a \""},
    {"aten::rstrip", {s(" a "), s(" ")}, "str", "\" a\""},
    {"aten::replace", {s("aaa"), s("aa"), s("b"), i("-1")}, "str", "\"ba\""},
    {"aten::replace", {s("a"), s(""), s("b"), i("-1")}, "str", ""},
    {"aten::find", {s("abc"), s("c"), i("0"), i("-1")}, "int", "2"},
    {"aten::find", {s("abc"), s("z"), i("0"), i("-1")}, "int", "-1"},
    {"aten::__getitem__", {s("abc"), i("-1")}, "str", "\"c\""},
    {"aten::__getitem__", {s("abc"), i("3")}, "str", ""},
    {"aten::startswith", {s("abc"), s("ab"), i("0"), i("-1")}, "bool", "True"},
};

TEST(Evaluate, AsTorchDoes) {
  for (const Row& row : rows) {
    std::string call = row.op + "(";
    for (const Argument& argument : row.arguments) call += argument.value + " ";
    EXPECT_EQ(computed(row), row.result) << call + ") -> " + row.type;
  }
}

TEST(Evaluate, TensorsSizes) {
  ir::Graph graph = ir::parse_graph(
      "graph():\n"
      "  %d : int = prim::Constant[value=-1]()\n"
      "  %w : Float(2, 3, strides=[3, 1]) = prim::Constant[value=<Tensor>]()\n"
      "  %a : int = aten::size(%w, %d)\n"
      "  %b : int = aten::dim(%w)\n"
      "  %c : int[] = aten::size(%w)\n"
      "  %e : int = prim::dtype(%w)\n"
      "  return (%a, %b, %c, %e)\n");
  Budget budget;
  fold_constants(graph, nullptr, budget);
  std::vector<std::string> results;
  for (const ir::Value* output : graph.outputs()) results.push_back(ir::print(*ir::constant_of(output)));
  EXPECT_EQ(results, (std::vector<std::string>{"3", "2", "[2, 3]", "6"}));
}

}  // namespace
}  // namespace compatcheck::passes
