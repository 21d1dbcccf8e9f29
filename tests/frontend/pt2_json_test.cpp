#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "compatcheck/error.h"
#include "frontend/pt2/json.h"

namespace compatcheck::frontend::pt2 {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string refusal(std::string_view text) {
  try {
    const JsonDocument document(bytes(text), "model.json");
    return "read";
  } catch (const ModelError& error) {
    return error.what();
  }
}

TEST(Json, HoldsValuesInTheFilesOrder) {
  const JsonDocument document(bytes(R"({"b": [1, -2.5, "x\u00e9", null], "a": {"t": true}})"), "model.json");
  const Json root = document.root();
  ASSERT_EQ(root.size(), 2u);
  EXPECT_EQ(root.members()[0].key(), "b");
  const auto list = root.at("b").members();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].integer(), 1);
  EXPECT_EQ(list[1].real(), -2.5);
  EXPECT_EQ(list[2].text(), "x\xc3\xa9");
  EXPECT_TRUE(list[3].is_null());
  EXPECT_TRUE(root.at("a").at("t").boolean());
  EXPECT_FALSE(root.find("c"));
}

TEST(Json, NamesThePlaceOfAFault) {
  const JsonDocument document(bytes(R"({"nodes": [{"target": "a"}, {"target": 3}]})"), "models/model.json");
  const Json node = document.root().at("nodes").members()[1];
  try {
    node.at("target").text();
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(), "record models/model.json: nodes[1].target is not a string");
  }
  try {
    node.at("inputs");
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(), "record models/model.json: nodes[1] lacks \"inputs\"");
  }
}

TEST(Json, ReadsNumbersWithoutQuotesThatPythonWrites) {
  const std::string text = R"({"a": NaN, "b": [-Infinity, Infinity], "c": "-Infinity \" NaN"})";
  const JsonDocument document(bytes(text), "model.json");
  EXPECT_TRUE(document.has_bare_numbers());
  EXPECT_TRUE(std::isnan(document.root().at("a").real()));
  EXPECT_LT(document.root().at("b").members()[0].real(), 0);
  EXPECT_EQ(document.root().at("c").text(), "-Infinity \" NaN");
  EXPECT_FALSE(JsonDocument(bytes(R"({"a": "NaN"})"), "model.json").has_bare_numbers());
}

TEST(Json, RefusesWhatParsersLetPass) {
  EXPECT_EQ(refusal(R"({"as_int": 1, "as_int": 2})"), "record model.json the key \"as_int\" occurs twice in one object");
  EXPECT_EQ(refusal("[18446744073709551616]"), "record model.json has an integer of more than 64 bits");
  EXPECT_EQ(refusal("[9223372036854775808]"), "record model.json has an integer of more than 64 bits");
  EXPECT_EQ(refusal("\xef\xbb\xbf{}"), "record model.json begins with a byte order mark");
  for (const std::string_view text : {"{} {}", "", "[1,]", "{\"a\"}", "[nan]", "\"\xff\"", "[\"\\ud800\"]"})
    EXPECT_TRUE(refusal(text).starts_with("record model.json is not JSON")) << text << ": " << refusal(text);
  EXPECT_EQ(refusal(std::string(100'000, '[')), "record model.json is nested more than 512 deep");
}

}  // namespace
}  // namespace compatcheck::frontend::pt2
