// Every wrong table, and the whole message that it gets.
#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

std::string first_error(const std::string& text) {
  const auto contents = read_operators(yaml::Source(text, "t.yaml"));
  if (contents.defects.empty()) return "no error";
  const Defect& defect = contents.defects.front();
  return yaml::describe(defect.place, defect.message, yaml::line_of(text, defect.place.line));
}

// Of `aten::f: {9: ROW}`, without the quoted line: "column: message".
std::string row_error(const std::string& row) {
  const auto contents = read_operators(yaml::Source("aten::f: {9: " + row + "}", "t.yaml"));
  if (contents.defects.empty()) return "no error";
  return std::to_string(contents.defects.front().place.column) + ": " + contents.defects.front().message;
}

TEST(ReadErrors, QuoteTheLineAndPointAtThePlace) {
  EXPECT_EQ(first_error("aten::relu:\n  7: {to: Relu, inputz: [x]}\n"),
            "t.yaml:2:17: unknown key `inputz` in a row; did you mean `inputs`?\n"
            "  7: {to: Relu, inputz: [x]}\n"
            "                ^");
}

TEST(ReadErrors, OfOperators) {
  EXPECT_EQ(first_error("- a\n"), "t.yaml:1:1: a table is a map from operators to their rows\n- a\n^");
  EXPECT_EQ(first_error("relu: {7: Relu}"),
            "t.yaml:1:1: `relu` isn't an operator's name; write namespace::name or namespace::name.overload\nrelu: {7: Relu}\n^");
  EXPECT_EQ(first_error("aten::relu: Relu"),
            "t.yaml:1:13: after an operator come opsets: aten::relu: {9: Relu}\naten::relu: Relu\n            ^");
  EXPECT_EQ(first_error("aten::relu: {}"),
            "t.yaml:1:1: `aten::relu` says nothing: no opset, no alias, no `missing`\naten::relu: {}\n^");
  EXPECT_EQ(first_error("aten::relu: {to: Relu}"),
            "t.yaml:1:14: `to` belongs under the opset from which it holds: 9: {to: …}\naten::relu: {to: Relu}\n             ^");
  EXPECT_EQ(
      first_error("aten::relu: {fact: same, 7: Relu}"),
      "t.yaml:1:14: unknown key `fact` in an operator; did you mean `facts`?\naten::relu: {fact: same, 7: Relu}\n             ^");
  EXPECT_EQ(
      first_error("aten::relu: {traits: [veiw], 7: Relu}"),
      "t.yaml:1:23: unknown trait `veiw`; did you mean `view`?\naten::relu: {traits: [veiw], 7: Relu}\n                      ^");
  EXPECT_EQ(first_error("aten::relu: {traits: view, 7: Relu}"),
            "t.yaml:1:22: `traits` is a list of names\naten::relu: {traits: view, 7: Relu}\n                     ^");
  EXPECT_EQ(first_error("aten::relu: {traits: [[view]], 7: Relu}"),
            "t.yaml:1:23: a trait must be text\naten::relu: {traits: [[view]], 7: Relu}\n                      ^");
  EXPECT_EQ(first_error("aten::relu.out: {traits: [view], 7: Relu}"),
            "t.yaml:1:18: `traits` hold for all overloads: they belong to the base name\n"
            "aten::relu.out: {traits: [view], 7: Relu}\n                 ^");
  EXPECT_EQ(first_error("aten::relu: {6: Relu}"),
            "t.yaml:1:14: opset 6: opsets are 7 to 26\naten::relu: {6: Relu}\n             ^");
  EXPECT_EQ(first_error("aten::relu: {99999999999: Relu}"),
            "t.yaml:1:14: opset 99999999999: opsets are 7 to 26\naten::relu: {99999999999: Relu}\n             ^");
  EXPECT_EQ(
      first_error("aten::relu: {9: Relu, 7: Relu}"),
      "t.yaml:1:23: opset 7 stands after opset 9; entries go upward\naten::relu: {9: Relu, 7: Relu}\n                      ^");
  EXPECT_EQ(first_error("aten::relu: {7: }"), "t.yaml:1:14: opset 7 says nothing\naten::relu: {7: }\n             ^");
  EXPECT_EQ(
      first_error("aten::relu: {7: same}"),
      "t.yaml:1:17: `same` says again what the entry before says, and there is none\naten::relu: {7: same}\n                ^");
  EXPECT_EQ(row_error("{missing: m, hint: h, variant: v}"), "36: `variant` goes with `to`");
  EXPECT_EQ(first_error("aten::relu: {7: []}"), "t.yaml:1:17: an empty list of rows\naten::relu: {7: []}\n                ^");
  EXPECT_EQ(first_error("aten::relu: {alias: aten::b, 7: Relu}"),
            "t.yaml:1:14: an alias has the history and the facts of the other operator; nothing stands beside it\naten::relu: "
            "{alias: aten::b, 7: Relu}\n             ^");
  EXPECT_EQ(first_error("aten::relu: {alias: aten::b, valid: {requires: x}}"),
            "t.yaml:1:14: an alias has the history and the facts of the other operator; nothing stands beside it\naten::relu: "
            "{alias: aten::b, valid: {requires: x}}\n             ^");
  EXPECT_EQ(first_error("aten::relu: {valid: {wen: {}}, 7: Relu}"),
            "t.yaml:1:22: unknown key `wen` in `valid`; did you mean `when`?\naten::relu: {valid: {wen: {}}, 7: Relu}\n          "
            "           ^");
  EXPECT_EQ(first_error("aten::relu: {alias: b}"),
            "t.yaml:1:21: `b` isn't an operator's name; write namespace::name or namespace::name.overload\naten::relu: {alias: "
            "b}\n                    ^");
  EXPECT_EQ(first_error("aten::relu: {hint: x, 7: Relu}"),
            "t.yaml:1:14: `hint` goes with `missing` or `refuse`\naten::relu: {hint: x, 7: Relu}\n             ^");
  EXPECT_EQ(first_error("aten::relu: {missing: x, 7: Relu}"),
            "t.yaml:1:14: `missing` at every opset, yet there are entries for opsets\naten::relu: {missing: x, 7: Relu}\n        "
            "     ^");
  EXPECT_EQ(first_error("aten::relu: {7: [{missing: x}, Relu]}"),
            "t.yaml:1:18: `missing` holds for every call and stands alone; beside other rows it is `refuse`\naten::relu: {7: "
            "[{missing: x}, Relu]}\n                 ^");
  EXPECT_EQ(first_error("aten::a: {7: Relu}\naten::a: {7: Relu}\n"),
            "t.yaml:2:1: `aten::a` is defined twice; first on line 1\naten::a: {7: Relu}\n^");
}

TEST(ReadErrors, OfRows) {
  EXPECT_EQ(row_error("{hint: x}"), "14: a row says one of `to`, `function`, `inline`, `missing` and `refuse`");
  EXPECT_EQ(row_error("{function: \"<domain: \\\"a\\\"> F (x) => (x) {}\", missing: x}"),
            "14: a row says one of `to`, `function`, `inline`, `missing` and `refuse`");
  EXPECT_EQ(row_error("{to: F, inline: \"F (x) => (x) {}\"}"), "15: `to` is implied by the ONNX functions of the row");
  EXPECT_EQ(row_error("{to: F, refuse: x}"), "14: a row says one of `to`, `function`, `inline`, `missing` and `refuse`");
  EXPECT_EQ(row_error("[[F]]"), "15: a row is an ONNX operator, or a map with `to`, `function`, `inline`, `missing` or `refuse`");
  EXPECT_EQ(row_error("a-b"), "14: `a-b` isn't the name of an ONNX operator");
  EXPECT_EQ(row_error("{to: {a: b}}"), "19: this isn't the name of an ONNX operator");
  EXPECT_EQ(row_error("{to: []}"), "19: `to` names no operator");
  EXPECT_EQ(row_error("{to: [A, B, A]}"), "26: `A` is in `to` twice");
  EXPECT_EQ(row_error("{to: F, hint: x}"), "22: `hint` goes with `missing` or `refuse`");
  EXPECT_EQ(row_error("{missing: x, inputs: [a]}"), "27: `inputs` goes with `to`, `function` or `inline`");
  EXPECT_EQ(row_error("{refuse: x, random: true}"), "26: `random` goes with `to`, `function` or `inline`");
  EXPECT_EQ(row_error("{missing: x, when: {a: 1}}"),
            "27: `when` doesn't go with `missing`, which holds for every call; use `refuse`");
  EXPECT_EQ(row_error("{missing: }"), "24: `missing` must be text");
  EXPECT_EQ(row_error("{to: F, random: yes}"), "30: `random` is true or false");
  EXPECT_EQ(row_error("{to: F, inputs: [\"x\"]}"), "31: `inputs`: expected the name of an argument");
  EXPECT_EQ(row_error("{to: F, requires: {}}"), "32: `requires`: expected the name of an argument");
}

TEST(ReadErrors, OfListsOfSeveralTypes) {
  const std::string why = "a list holds numbers, or strings, or booleans: members of one type";
  EXPECT_EQ(row_error("{to: a::B, attributes: {a: [1, x]}}"), "45: " + why);
  EXPECT_EQ(row_error("{to: a::B, attributes: {a: [true, 2]}}"), "48: " + why);
  EXPECT_EQ(row_error("{to: a::B, attributes: {a: [~]}}"), "42: " + why);
  EXPECT_EQ(row_error("{to: a::B, inputs: [[1, true]]}"), "38: " + why);
  EXPECT_EQ(row_error("{to: a::B, attributes: {a: [1, 2.5], b: [x, y], c: [true]}}"), "no error");
}

TEST(ReadErrors, OfDomains) {
  EXPECT_EQ(first_error("domains: {ai.onnx.ml: 99}"),
            "t.yaml:1:23: ONNX has ai.onnx.ml up to version 5\ndomains: {ai.onnx.ml: 99}\n                      ^");
  EXPECT_EQ(first_error("domains: {ai.onnx.ml: 5, acme: 99}"), "no error");
}

TEST(ReadErrors, OfAttributes) {
  EXPECT_EQ(row_error("{to: F, attributes: [a]}"), "34: `attributes` maps ONNX attributes to arguments or constants");
  EXPECT_EQ(row_error("{to: F, attributes: {a b: 1}}"), "35: `a b` isn't the name of an attribute");
  EXPECT_EQ(row_error("{to: F, attributes: {a: \"linear\"}}"),
            "38: expected an argument's name; write a string as {constant: \"linear\"}");
  EXPECT_EQ(row_error("{to: F, attributes: {a: ~}}"), "38: expected an argument or a constant");
  EXPECT_EQ(row_error("{to: F, attributes: {a: {flaot: x}}}"), "39: `flaot` isn't a kind of argument; did you mean `float`?");
  EXPECT_EQ(row_error("{to: F, attributes: {a: {float: x, int: y}}}"),
            "38: expected one key: `constant`, or the kind of an argument");
  EXPECT_EQ(row_error("{to: F, attributes: {a: {int: 1.5}}}"),
            "44: `int`: expected the name of an argument, or a constant that is int");
  EXPECT_EQ(row_error("{to: F, attributes: {a: [[1]]}}"), "39: expected a single value");
  EXPECT_EQ(row_error("{to: F, attributes: {a: 99999999999999999999}}"), "38: `99999999999999999999` is out of range");
}

TEST(ReadErrors, OfConditions) {
  const auto error = [](const std::string& when) { return row_error("{to: F, when: " + when + "}"); };
  EXPECT_EQ(error("3"), "28: `when` maps arguments to what they must fit");
  EXPECT_EQ(error("{}"), "28: `when` without a condition");
  EXPECT_EQ(error("[]"), "28: `when` without a condition");
  EXPECT_EQ(error("{a-b: 1}"), "29: `a-b` isn't the name of an argument");
  EXPECT_EQ(error("{outputs.x: {used: false}}"), "29: `outputs.x` isn't the name of an argument");
  EXPECT_EQ(error("{a: []}"), "32: an empty list of values; for a list without members write {equals: []}");
  EXPECT_EQ(error("{a: {}}"), "32: an empty condition");
  EXPECT_EQ(error("{a: {mni: 1}}"), "33: unknown key `mni` in a condition; did you mean `min`?");
  EXPECT_EQ(error("{a: {min: x}}"), "38: `min` is a number");
  EXPECT_EQ(error("{a: {min: .nan}}"), "38: `min` is a number");
  EXPECT_EQ(error("{a: {min: 2, max: 1}}"), "32: no number is at least `min` and at most `max`");
  EXPECT_EQ(error("{a: {equals: 1}}"), "41: `equals` takes a list; a single value stands by itself");
  EXPECT_EQ(error("{a: {dtype: float}}"), "40: `float` is no dtype and no class of dtypes");
  EXPECT_EQ(error("{a: {dtype: intregal}}"), "40: `intregal` is no dtype and no class of dtypes; did you mean `integral`?");
  EXPECT_EQ(error("{a: {dtype: []}}"), "40: an empty list of dtypes");
  EXPECT_EQ(error("{a: {rank: two}}"), "39: a rank is a number, or `known`");
  EXPECT_EQ(error("{a: {size: 3}}"), "39: `size` maps dimensions to what their sizes fit: {size: {1: 3}}");
  EXPECT_EQ(error("{a: {size: {x: 3}}}"), "40: a dimension is a number, negative from the end");
  EXPECT_EQ(error("{a: {size: {1: x}}}"), "43: a size is a number, or `known`");
  EXPECT_EQ(error("{a: {none: 0}}"), "39: `none` is true or false");
}

TEST(ReadErrors, OfOnnxChanges) {
  const auto error = [](const std::string& text) {
    const auto contents = read_onnx_changes(yaml::Source(text, "c.yaml"));
    return contents.defects.empty() ? "no error" : contents.defects.front().message;
  };
  EXPECT_EQ(error("Clip: 3"), "expected version steps: {7-13: {types: …}}");
  EXPECT_EQ(error("Clip: {11: {types: x}}"), "expected a version step: 7-13");
  EXPECT_EQ(error("Clip: {13-7: {types: x}}"), "expected a version step: 7-13");
  EXPECT_EQ(error("Clip: {6-11: types}"), "expected a class with its reason: {extended: \"new attribute dilations\"}");
  EXPECT_EQ(error("Clip: {6-11: {moved: {a: b}}}"), "the step's class is missing: types, extended or meaning");
  EXPECT_EQ(error("Clip: {6-11: {types: a, meaning: b}}"), "a step has one class");
  EXPECT_EQ(error("Clip: {6-11: {typos: a}}"), "unknown key `typos` in a version step; did you mean `types`?");
  EXPECT_EQ(error("Clip: {6-11: {types: a, moved: 3}}"), "`moved` maps attributes to the inputs that they became");
}

}  // namespace
}  // namespace compatcheck::mapping
