#include "mapping/reading/yaml.h"

#include <gtest/gtest.h>

namespace compatcheck::mapping::yaml {
namespace {

Node read(const std::string& text) { return parse(Source(text, "t.yaml")); }

std::string error(const std::string& text) {
  try {
    read(text);
  } catch (const TableError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Yaml, NodesKnowTheirPlaces) {
  const Node root = read("# a comment\na: {b: [1, \"x\"]}\nc:\n  - ~\n");
  ASSERT_EQ(root.pairs.size(), 2u);
  const Node& b = root.pairs[0].second.pairs[0].second;
  EXPECT_EQ(std::pair(b.line, b.column), std::pair(2, 8));
  EXPECT_EQ(std::pair(b.items[1].line, b.items[1].column), std::pair(2, 12));
  EXPECT_TRUE(b.items[1].quoted);
  EXPECT_FALSE(b.items[0].quoted);
  EXPECT_TRUE(root.pairs[1].second.items[0].is_null());
}

TEST(Yaml, ColumnsCountCharactersAndByteOrderMarksNothing) {
  const Node root = read("\xEF\xBB\xBF{ä: ö, é: [1]}");
  const Node& list = root.pairs[1].second;
  EXPECT_EQ(list.column, 11);
}

TEST(Yaml, EmptyTextsAreNull) {
  EXPECT_TRUE(read("").is_null());
  EXPECT_TRUE(read("# only a comment\n").is_null());
}

TEST(Yaml, RepeatedKeys) {
  EXPECT_EQ(error("a: 1\nb: {x: 1, y: 2, x: 3}\n"),
            "t.yaml:2:17: `x` is defined twice; first on line 2\n"
            "b: {x: 1, y: 2, x: 3}\n"
            "                ^");
}

TEST(Yaml, Tabs) {
  EXPECT_EQ(error("a:\n \tb: 1\n"), "t.yaml:2:2: a tab; YAML is indented with spaces\n  b: 1\n ^");
  EXPECT_EQ(error("a: b\tc\n"), "no error");
}

TEST(Yaml, WhatTablesAreNot) {
  EXPECT_EQ(error("a: &x 1\n"), "t.yaml:1:4: anchors (&) are not part of the table language\na: &x 1\n   ^");
  EXPECT_EQ(error("a: &x [1]\nb: *x\n"), "t.yaml:1:4: anchors (&) are not part of the table language\na: &x [1]\n   ^");
  EXPECT_EQ(error("a: !!str 1\n"), "t.yaml:1:4: tags (!) are not part of the table language\na: !!str 1\n   ^");
  EXPECT_EQ(error("a: 1\n---\nb: 2\n"), "t.yaml:3:1: a second document; a table file holds one\nb: 2\n^");
  EXPECT_EQ(error("[1, 2]: 3\n"), "t.yaml:1:1: a key must be a word or a number\n[1, 2]: 3\n^");
}

TEST(Yaml, BytesThatAreNoText) {
  EXPECT_EQ(error("a: \xFF\n"), "t.yaml:1:4: not UTF-8 text\na: ?\n   ^");
  EXPECT_EQ(error(std::string("a: b\0c", 6)), "t.yaml:1:5: a control character\na: b?c\n    ^");
  EXPECT_EQ(error("a: 1\rb: 2"), "t.yaml:1:5: a carriage return within a line\na: 1?b: 2\n    ^");
  EXPECT_EQ(error("a: 1\r\nb: [\r\n"), "t.yaml:3:1: not YAML: end of sequence flow not found");
}

TEST(Yaml, Bounds) {
  EXPECT_EQ(error(std::string(200, '[')),
            "t.yaml:1:13: nested more than 24 deep\n" + std::string(133, '[') + "…\n" + std::string(12, ' ') + "^");
  EXPECT_EQ(error("a: " + std::string(4093, 'x') + "\n"), "no error");
  EXPECT_EQ(error("a: " + std::string(400, 'x') + " &y"), "no error");
  EXPECT_EQ(error("{ä: " + std::string(400, 'x') + ", b: &y z" + std::string(400, 'x') + "}"),
            "t.yaml:1:410: anchors (&) are not part of the table language\n"
            "…" +
                std::string(114, 'x') + ", b: &y z" + std::string(118, 'x') + "…\n" + std::string(120, ' ') + "^");
  EXPECT_EQ(error("a: " + std::string(4094, 'x') + "\n").substr(0, 45), "t.yaml:1:4097: a line of more than 4096 bytes");
  const std::string huge((1 << 20) + 1, ' ');
  EXPECT_EQ(error(huge).substr(0, 45), "t.yaml:1:1: a table of more than 1024 KiB\n   ");
}

TEST(Yaml, SyntaxErrorsKeepThePlace) {
  EXPECT_EQ(error("a: 1\nb: [1, 2\nc: 3\n"),
            "t.yaml:3:2: not YAML: end of sequence flow not found\n"
            "c: 3\n"
            " ^");
}

}  // namespace
}  // namespace compatcheck::mapping::yaml
