#include "compatcheck/printable.h"

#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "ir/text.h"

namespace compatcheck {
namespace {

TEST(Printable, TextStays) {
  for (const char* text : {"", "net.head · conv2d(x)", "größe", "模型.pt", "😀", "a\\b"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreSpelled) {
  EXPECT_EQ(printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\ntwo\\r\\tthree");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(Printable, WhatIsNoUtf8IsSpelled) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Printable, LinesStay) { EXPECT_EQ(printable_lines("a.ir:1:2: no\n  \x1b]0;\n  ^"), "a.ir:1:2: no\n  \\x1b]0;\n  ^"); }

std::string error_of(std::string_view text) {
  try {
    ir::parse_graph(text, {"net.txt"});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

// The caret stands below its place, whatever the line holds.
TEST(Printable, QuotedLines) {
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %y : str = a::b[c=\"\x1b[2J\"](%x) !\n"),
            "net.txt:2:33: expected an operator like aten::add, found '!'\n"
            "  %y : str = a::b[c=\"\\x1b[2J\"](%x) !\n"
            "                                   ^");
  EXPECT_EQ(error_of("graph(%x : Tensor):\n  %y : str = a::b[c=\"größe\"](%x) !\n"),
            "net.txt:2:36: expected an operator like aten::add, found '!'\n"
            "  %y : str = a::b[c=\"größe\"](%x) !\n"
            "                                 ^");
}

}  // namespace
}  // namespace compatcheck
