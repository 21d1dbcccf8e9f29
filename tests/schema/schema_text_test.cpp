#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "compatcheck/error.h"
#include "ir/text.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(COMPATCHECK_SOURCE_DIR "/src/schema/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What to_string says it spells otherwise: SymInt is int, floats and equal lists are short; a float's default is one.
std::string as_printed(std::string line) {
  static const std::pair<std::regex, const char*> spellings[] = {
      {std::regex("\\bSymInt\\b"), "int"},
      {std::regex("\\bSymBool\\b"), "bool"},
      {std::regex("(\\[\\d\\] \\w+)=\\[(\\d+)(, \\2)+\\]"), "$1=$2"},
      {std::regex("(float\\?? \\w+=\\d+)([,)])"), "$1.$2"},
      {std::regex("1\\.0000000000000001e-05"), "1e-05"},
      {std::regex("9\\.9999999999999995e-07"), "1e-06"},
      {std::regex("1\\.0000000000000001e-15"), "1e-15"},
      {std::regex("0\\.33333333333333331"), "0.3333333333333333"},
  };
  for (const auto& [from, to] : spellings) line = std::regex_replace(line, from, to);
  return line;
}

TEST(SchemaText, EveryShippedSchemaPrintsAsItStands) {
  std::size_t count = 0;
  for (const char* file : {"torch_schemas.txt", "library_schemas.txt"}) {
    for (const std::string& line : lines_of(file)) {
      ++count;
      EXPECT_EQ(to_string(parse(line)), as_printed(line));
    }
  }
  EXPECT_GT(count, 4000u);
}

TEST(SchemaText, PartsOfASchema) {
  const Schema add = parse("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(add.name, "aten::add");
  EXPECT_EQ(add.overload, "out");
  EXPECT_EQ(add.argument_index("alpha"), 2u);
  EXPECT_EQ(add.argument_index("beta"), std::nullopt);
  EXPECT_FALSE(add.arguments[1].keyword_only);
  EXPECT_TRUE(add.arguments[2].keyword_only);
  EXPECT_EQ(*add.arguments[2].default_value->get<std::int64_t>(), 1);
  EXPECT_EQ(add.arguments[3].alias_set, "a");
  EXPECT_TRUE(add.writes() && add.is_out());

  const Schema pool = parse(
      "aten::pool(Tensor self, int[2] kernel, SymInt[2] stride=[], int[1]? dim=None, float[] f=[1, 2.5], int[2] pad=0) -> "
      "Tensor");
  EXPECT_EQ(pool.arguments[1].list_size, 2u);
  EXPECT_EQ(pool.arguments[3].list_size, 1u);
  EXPECT_EQ(ir::print(*pool.arguments[4].default_value), "[1., 2.5]");
  EXPECT_EQ(ir::print(*pool.arguments[5].default_value), "[0, 0]");
  EXPECT_EQ(pool.arguments[2].type->elements[0]->kind, ir::TypeKind::integer);

  const Schema add_ = parse("aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  EXPECT_TRUE(add_.writes());
  EXPECT_FALSE(add_.is_out());

  const Schema split = parse("aten::split.Tensor(Tensor(a -> *) self, int size, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(split.arguments[0].contained_after);
  EXPECT_TRUE(split.returns[0].alias_of_elements);
  EXPECT_EQ(split.returns[0].alias_set, "a");
  EXPECT_FALSE(parse("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)").arguments[0].alias_of_elements);
  EXPECT_EQ(parse("aten::to(Tensor(a) self) -> Tensor(b|a)").returns[0].alias_set, "b|a");
  EXPECT_TRUE(parse("aten::format(str self, ...) -> str").variadic_arguments);
  EXPECT_TRUE(parse("prim::PythonOp(...) -> ...").variadic_returns);
}

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const TableError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SchemaText, WholeMessages) {
  EXPECT_EQ(error_of("acme::f(Tensor x, y) -> Tensor"),
            "schema:1:20: expected the argument's name, found ')'\nacme::f(Tensor x, y) -> Tensor\n                   ^");
  EXPECT_EQ(error_of("acme::f(Tensor x)"),
            "schema:1:18: expected '->' after the arguments, found the end of the text\nacme::f(Tensor x)\n                 ^");
  EXPECT_NE(error_of("acme::f(int[0] x) -> Tensor").find("expected a list's size from 1 to 64"), std::string::npos);
  EXPECT_NE(error_of("f(" + std::string(100000, '(')).find("deep"), std::string::npos);
}

}  // namespace
}  // namespace compatcheck::schema
