// ONNX functions in rows: what is wrong in them, and where.
#include "lint/lint.h"
#include "mapping/tables.h"

namespace compatcheck::lint {
namespace {

constexpr std::string_view changes =
    "Softmax: {11-13: {meaning: \"one axis\"}}\n"
    "Clip: {6-11: {extended: \"inputs\", moved: {min: min, max: max}}}\n";

std::string defects_of(const std::string& operators) {
  const mapping::Table table = mapping::table_of({.operators = operators, .changes = std::string(changes)});
  const schema::Registry schemas;
  std::string text;
  for (const mapping::Defect& defect : check(table, {schemas, {}, {}, {}}))
    if (defect.place.file != "mappings/onnx_changes.yaml")
      text += std::to_string(defect.place.line) + ":" + std::to_string(defect.place.column) + ": " + defect.message + "\n";
  return text;
}

std::string row(int opset, const std::string& kind, const std::string& text, const std::string& more = "") {
  return "aten::relu:\n  " + std::to_string(opset) + ":\n    " + kind + ": |\n      <domain: \"acme\">\n      " + text + "\n" +
         more;
}

TEST(Bodies, GoodOnesHaveNoDefects) {
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Relu (x) }")), "");
  EXPECT_EQ(defects_of(row(7, "inline", "F (x) => (y) { y = Clip <min = 0.0> (x) }")), "");
  EXPECT_EQ(
      defects_of(row(
          9, "function",
          "G <a> (x) => (y) { y = LeakyRelu <alpha: float = @a> (x) } <domain: \"acme\"> F (x) => (y) { y = G <a = 0.5> (x) }")),
      "");
}

TEST(Bodies, OperatorsAndAttributes) {
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Rela (x) }")),
            "5:26: ONNX has no operator `Rela`; did you mean `Relu`?\n");
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Gelu (x) }")),
            "5:26: `Gelu` is in ONNX from opset 20, this entry holds from 9\n");
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Elu <alfa = 1.0> (x) }")),
            "5:26: Elu has no attribute `alfa`; did you mean `alpha`?\n");
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Cast (x) }")), "5:26: Cast needs the attribute `to` at opset 9\n");
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Clip <min = 0.0> (x) }")),
            "5:26: `min` of Clip is an input from opset 11 on; an entry for opset 11 is missing; or write `inline` instead of "
            "`function`\n");
}

TEST(Bodies, Values) {
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Relu (z) }")),
            "5:26: nothing gives `z`, which Relu reads; did you mean `x`?\n");
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (out) { y = Relu (x) }")), "4:7: nothing in `F` gives its output `out`\n");
}

TEST(Bodies, FunctionsEndAtAChangeOfMeaning) {
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Softmax (x) }")),
            "2:3: ends at opset 13, where Softmax changed its meaning (one axis); an entry for opset 13 is missing\n");
}

TEST(Bodies, OneNameOneBody) {
  const std::string other = "aten::exp:\n  9:\n    function: |\n      <domain: \"acme\">\n      F (x) => (y) { y = Exp (x) }\n";
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Relu (x) }", other)),
            "4:7: `acme::F` has another body in t.yaml:9; one of them takes another name\n");
  const std::string same = "aten::exp:\n  9:\n    function: |\n      <domain: \"acme\">\n      F (x) => (y) { y = Relu (x) }\n";
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Relu (x) }", same)), "");
}

TEST(Bodies, Bindings) {
  EXPECT_EQ(defects_of(row(9, "function", "F (x) => (y) { y = Relu (x) }", "    attributes: {a: 1}\n")),
            "3:5: `F` has no attribute `a`\n");
  EXPECT_EQ(defects_of(row(9, "function", "F <a> (x) => (y) { y = LeakyRelu <alpha: float = @a> (x) }")),
            "3:5: `F` needs the attribute `a`: attributes: {a: …}, or a default in its text\n");
  EXPECT_EQ(defects_of(row(9, "inline", "F <a: float> (x) => (y) { y = LeakyRelu <alpha: float = @a> (x) }")),
            "3:5: `F` needs the attribute `a`: attributes: {a: …}, or a default in its text\n");
  EXPECT_EQ(defects_of(row(9, "inline", "F <a: float = 0.0> (x) => (y) { y = LeakyRelu <alpha: float = @a> (x) }")), "");
  EXPECT_EQ(defects_of(row(9, "function", "F <a> (x) => (y) { y = LeakyRelu <alpha: float = @a> (x) }",
                           "    attributes: {a: {constant: big}}\n")),
            "3:5: attribute `a` of F is FLOAT; the constant isn't\n");
}

}  // namespace
}  // namespace compatcheck::lint
