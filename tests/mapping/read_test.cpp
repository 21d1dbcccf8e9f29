// What rows say, once read.
#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

TEST(Read, ARowThatIsOnlyAName) {
  const OperatorRows rows = only_operator("aten::relu:\n  7: Relu\n");
  EXPECT_EQ(rows.name, "aten::relu");
  ASSERT_EQ(rows.history.size(), 1u);
  EXPECT_EQ(rows.history[0].opset, 7);
  EXPECT_EQ(rows.history[0].rows[0].to, std::vector<std::string>{"Relu"});
  EXPECT_TRUE(rows.history[0].rows[0].one_to_one());
  EXPECT_EQ(rows.history[0].rows[0].place.line, 2);
  EXPECT_EQ(rows.history[0].rows[0].place.column, 6);
}

TEST(Read, SeveralOperatorsCarryTheMeaning) {
  const Row row = only_row("{to: [Div, Erf, acme.ops::Mul], random: true, approximate: \"by 1e-3\", lifted: \"rank 0\"}");
  EXPECT_EQ(row.to, (std::vector<std::string>{"Div", "Erf", "acme.ops::Mul"}));
  EXPECT_FALSE(row.one_to_one());
  EXPECT_TRUE(row.random);
  EXPECT_FALSE(row.complex);
  EXPECT_EQ(row.approximate, "by 1e-3");
  EXPECT_EQ(row.lifted, "rank 0");
}

TEST(Read, ListsOfRows) {
  const OperatorRows rows = only_operator(
      "aten::avg_pool2d:\n"
      "  7:\n"
      "    - {refuse: no ceil_mode, hint: use 10, when: {ceil_mode: true}}\n"
      "    - AveragePool\n"
      "  10: AveragePool\n");
  ASSERT_EQ(rows.history.size(), 2u);
  ASSERT_EQ(rows.history[0].rows.size(), 2u);
  EXPECT_EQ(rows.history[0].rows[0].kind, Row::Kind::refuse);
  EXPECT_EQ(rows.history[0].rows[0].reason, "no ceil_mode");
  EXPECT_EQ(rows.history[0].rows[0].hint, "use 10");
  EXPECT_EQ(rows.history[0].rows[1].kind, Row::Kind::mapped);
}

TEST(Read, MissingAtEveryOpset) {
  const OperatorRows rows = only_operator("aten::linalg_pinv:\n  missing: no SVD\n  hint: solve otherwise\n  facts: same\n");
  ASSERT_EQ(rows.history.size(), 1u);
  EXPECT_EQ(rows.history[0].opset, lowest_opset);
  EXPECT_EQ(rows.history[0].place.line, 2);
  EXPECT_EQ(rows.history[0].rows[0].kind, Row::Kind::missing);
  EXPECT_EQ(rows.history[0].rows[0].hint, "solve otherwise");
  EXPECT_EQ(rows.facts, "same");
}

TEST(Read, WhatPyTorchDemands) {
  const Validity valid = only_operator("aten::f:\n  valid: {when: {a: {each: {min: 1}}}, requires: fits}\n  7: Relu\n").valid;
  ASSERT_EQ(valid.when.size(), 1u);
  EXPECT_EQ(valid.when[0][0].argument, "a");
  EXPECT_EQ(valid.required, std::vector<std::string>{"fits"});
}

TEST(Read, StructuralOperators) {
  const auto read =
      read_structural(yaml::Source("prim::If: blocks\nprim::dtype: {known: a dtype}\nprim::Print: {dropped: output}\nprim::data: "
                                   "{why: a tensor, traits: [view]}\n",
                                   "t.yaml"));
  ASSERT_EQ(read.items.size(), 4u);
  EXPECT_EQ(read.items[0].structure, Structure::resolved);
  EXPECT_EQ(read.items[1].structure, Structure::known);
  EXPECT_EQ(read.items[1].why, "a dtype");
  EXPECT_EQ(read.items[2].structure, Structure::dropped);
  EXPECT_EQ(read.items[3].why, "a tensor");
  EXPECT_EQ(read.items[3].traits, schema::only(schema::Trait::view));
  const auto wrong = read_structural(
      yaml::Source("prim::a: {knwon: a}\nprim::b: {known: a, dropped: b}\nprim::c: []\nprim::d: {traits: [view]}\n", "t.yaml"));
  std::vector<std::string> messages;
  for (const Defect& defect : wrong.defects) messages.push_back(defect.message);
  EXPECT_EQ(messages,
            (std::vector<std::string>{"unknown key `knwon` in a structural operator; did you mean `known`?",
                                      "a structural operator has one reason: `why`, `known` or `dropped`",
                                      "the reason must be text", "the reason is missing: `why`, `known` or `dropped`"}));
}

TEST(Read, Traits) {
  using enum schema::Trait;
  EXPECT_EQ(only_operator("aten::f: {traits: [view, iterates], 7: Relu}").traits, schema::only(view) | schema::only(iterates));
  EXPECT_EQ(only_operator("aten::f: {alias: aten::g, traits: [split]}").traits, schema::only(split));
  EXPECT_EQ(only_operator("aten::f: {7: Relu}").traits, 0u);
}

TEST(Read, VariantsAndEntriesThatSayTheSame) {
  EXPECT_EQ(only_row("{to: [Clip, Sub], variant: clipped}").variant, "clipped");
  EXPECT_FALSE(equal(only_row("{to: Clip, variant: clipped}"), only_row("{to: Clip}")));
  const OperatorRows rows = only_operator("aten::f: {7: [{to: Relu, when: {a: 1}}, Exp], 9: same, 14: Exp}");
  ASSERT_EQ(rows.history.size(), 3u);
  EXPECT_TRUE(equal(rows.history[0].rows, rows.history[1].rows));
  EXPECT_EQ(rows.history[1].opset, 9);
  EXPECT_EQ(rows.history[2].rows.size(), 1u);
}

TEST(Read, AliasAndSchema) {
  EXPECT_EQ(only_operator("aten::multiply: {alias: aten::mul}").alias, "aten::mul");
  EXPECT_EQ(only_operator("acme::f.x: {schema: \"acme::f.x(Tensor a) -> Tensor\", 9: acme::F}").schema,
            "acme::f.x(Tensor a) -> Tensor");
}

TEST(Read, ConstantInputs) {
  const Row row = only_row("{to: F, inputs: [a, {float: 1}, 2, [0.5, 1.5], ~, {ints: k}]}");
  const auto& inputs = row.inputs.value();
  ASSERT_EQ(inputs.size(), 6u);
  EXPECT_EQ(inputs[1].constant, std::vector<Literal>{1.0});
  EXPECT_EQ(inputs[2].constant, std::vector<Literal>{std::int64_t{2}});
  EXPECT_TRUE(inputs[3].constant_is_list);
  EXPECT_EQ(inputs[4].kind, ArgumentKind::none);
  EXPECT_EQ(inputs[5].argument, "k");
}

TEST(Read, Functions) {
  const OperatorRows rows =
      only_operator("aten::f:\n  9:\n    function: |\n      <domain: \"acme\">\n      F (x) => (y) { y = Relu (x) }\n");
  const Row& row = rows.history.front().rows.front();
  EXPECT_EQ(row.to, std::vector<std::string>{"acme::F"});
  EXPECT_TRUE(row.one_to_one());
  EXPECT_EQ(row.body->place.line, 4);
  EXPECT_EQ(row.body->place.column, 7);
  EXPECT_EQ(only_row("{inline: \"F (x) => (y) { a = Exp (x) y = Add (a, x) }\"}").to, (std::vector<std::string>{"Exp", "Add"}));
}

TEST(Read, InputsAndAttributes) {
  const Row row = only_row(
      "{to: F, inputs: [a, b], attributes: {n: arg, k: 3, x: 0.5, l: [1, 2], s: {constant: \"lin\"}, v: {constant: [1.5]}, f: "
      "{float: alpha}}}");
  ASSERT_EQ(row.inputs.value().size(), 2u);
  EXPECT_EQ(row.inputs->at(1).argument, "b");
  ASSERT_EQ(row.attributes.size(), 7u);
  EXPECT_EQ(row.attributes[0].second.argument, "arg");
  EXPECT_EQ(row.attributes[1].second.constant, std::vector<Literal>{std::int64_t{3}});
  EXPECT_EQ(row.attributes[2].second.constant, std::vector<Literal>{0.5});
  EXPECT_TRUE(row.attributes[3].second.constant_is_list);
  EXPECT_EQ(row.attributes[4].second.constant, std::vector<Literal>{"lin"});
  EXPECT_TRUE(row.attributes[5].second.constant_is_list);
  EXPECT_EQ(row.attributes[6].second.kind, ArgumentKind::floating);
  EXPECT_EQ(row.attributes[6].second.argument, "alpha");
}

TEST(Read, Requires) {
  EXPECT_EQ(only_row("{to: F, requires: divides}").required, std::vector<std::string>{"divides"});
  EXPECT_EQ(only_row("{to: F, requires: [a, b]}").required, (std::vector<std::string>{"a", "b"}));
}

TEST(Read, OnnxChanges) {
  const auto contents = read_onnx_changes(yaml::Source(
      "Clip:\n  6-11: {extended: inputs, moved: {min: min, value: constant_value}}\nRoiAlign: {10-16: {meaning: shifted}}",
      "c.yaml"));
  ASSERT_TRUE(contents.defects.empty());
  ASSERT_EQ(contents.items.size(), 2u);
  EXPECT_EQ(contents.items[0].op, "Clip");
  EXPECT_EQ(contents.items[0].from, 6);
  EXPECT_EQ(contents.items[0].to, 11);
  EXPECT_EQ(contents.items[0].change, Change::extended);
  EXPECT_EQ(contents.items[0].moved[1], (std::pair<std::string, std::string>("value", "constant_value")));
  EXPECT_EQ(contents.items[1].change, Change::meaning);
  EXPECT_EQ(contents.items[1].why, "shifted");
}

// One operator's defect leaves the others.
TEST(Read, EveryDefectOfAFileIsFound) {
  const std::string text = "aten::a: {7: Relu}\naten::b: {6: Relu}\naten::c: {7: Relu}\naten::d: 3\n";
  const auto contents = read_operators(yaml::Source(text, "t.yaml"));
  EXPECT_EQ(contents.items.size(), 2u);
  ASSERT_EQ(contents.defects.size(), 2u);
  EXPECT_EQ(contents.defects[0].place.line, 2);
  EXPECT_EQ(contents.defects[1].place.line, 4);
}

}  // namespace
}  // namespace compatcheck::mapping
