// Every kind of wrong row, and the whole message that it gets.
#include "lint/lint.h"

#include <gmock/gmock.h>

#include "mapping/tables.h"

namespace compatcheck::lint {
namespace {

constexpr std::string_view fact_words[] = {"same", "pointwise"};
constexpr std::string_view conditions[] = {"output_divides"};
constexpr std::string_view changes =
    "RoiAlign: {10-16: {meaning: \"shifted by half a pixel\"}}\n"
    "Squeeze: {11-13: {extended: \"axes became an input\", moved: {axes: axes}}}\n"
    "Clip: {6-11: {extended: \"inputs\", moved: {min: min, max: max}}}\n";

// The defects of these operators, one a line.
std::string defects_of(const std::string& operators, std::optional<std::span<const std::string_view>> handlers = std::nullopt) {
  const mapping::Table table =
      mapping::table_of({.operators = operators, .changes = std::string(changes), .structural = "prim::If: branches\n"});
  schema::Registry schemas;
  for (const std::string& schema : table.schemas()) try {
      schemas.add(schema);
    } catch (const schema::ParseError&) {  // a defect of its row
    }
  std::string text;
  for (const mapping::Defect& defect : check(table, {schemas, conditions, fact_words, handlers}))
    if (defect.place.file != "mappings/onnx_changes.yaml")
      text += std::to_string(defect.place.line) + ":" + std::to_string(defect.place.column) + ": " + defect.message + "\n";
  return text;
}

TEST(Lint, GoodRowsHaveNoDefects) {
  EXPECT_EQ(
      defects_of("aten::relu: {facts: same, 7: Relu}\n"
                 "aten::gelu: {9: {to: [Div, Erf, Add, Mul], when: {approximate: none}}, 20: {to: Gelu, attributes: "
                 "{approximate: approximate}}}\n"
                 "aten::triu: {7: {missing: no Trilu, hint: use 14}, 14: {to: Trilu, inputs: [self, diagonal], attributes: "
                 "{upper: 1}}}\n"
                 "aten::squeeze.dim: {7: {to: Squeeze, inputs: [self], attributes: {axes: dim}}}\n"
                 "aten::clamp: {7: {to: Clip, inputs: [self], attributes: {min: min, max: max}, when: {min: {none: false}}}}\n"
                 "aten::max_pool2d_with_indices: {8: {to: MaxPool, when: [{outputs.1: {used: false}}, {stride: {each: 1}}]}}\n"
                 "aten::cat: {7: {to: Concat, inputs: [tensors], attributes: {axis: dim}, when: {tensors: {dtype: floating}}}}\n"
                 "aten::mul: {7: {to: Mul, requires: output_divides}}\n"
                 "aten::multiply: {alias: aten::mul}\n"
                 "acme::f: {9: {to: acme.ops::F, inputs: [x], attributes: {k: whatever}}}\n"),
      "");
}

TEST(Lint, EntriesThatRepeatTheOneBefore) {
  EXPECT_EQ(defects_of("aten::f: {schema: \"aten::f(Tensor x) -> Tensor\", 10: RoiAlign, 16: RoiAlign}\n"),
            "1:64: repeats the entry for opset 10; write `same`\n");
  EXPECT_EQ(defects_of("aten::f: {schema: \"aten::f(Tensor x) -> Tensor\", 10: RoiAlign, 16: same}\n"), "");
}

TEST(Lint, VariantsAreThoseOfTheHandler) {
  handlers::Registry registry;
  registry.handler("aten::relu", [](handlers::Emission&) {}, {"clipped", "compared"});
  const mapping::Table table = mapping::table_of({.operators = "aten::relu: {7: {to: Max, variant: clipped}, 9: {to: Max, "
                                                               "variant: cliped}}\naten::exp: {7: {to: Exp, variant: a}}\n"});
  const schema::Registry schemas;
  std::vector<std::string> messages;
  for (const mapping::Defect& defect :
       check(table, {.schemas = schemas, .conditions = {}, .fact_words = {}, .handlers = {}, .variants = &registry}))
    if (defect.message.find("variant") != std::string::npos) messages.push_back(defect.message);
  EXPECT_EQ(messages, (std::vector<std::string>{"no row asks for the variant `compared` of the handler of `aten::relu`",
                                                "the handler of `aten::relu` has no variant `cliped`; did you mean `clipped`?",
                                                "the handler of `aten::exp` has no variant `a`"}));
}

TEST(Lint, QuotesTheLine) {
  const mapping::Table table = mapping::table_of({.operators = "aten::relu:\n  7: Relus   # here\n"});
  const schema::Registry schemas;
  const auto defects = check(table, {schemas, {}, {}, {}});
  const auto here = std::ranges::find(defects, "t.yaml", [](const mapping::Defect& d) { return d.place.file; });
  ASSERT_NE(here, defects.end());
  EXPECT_EQ(describe(table, *here),
            "t.yaml:2:6: ONNX has no operator `Relus`; did you mean `Relu`?\n"
            "  7: Relus   # here\n"
            "     ^");
}

TEST(Lint, OperatorsAndOverloads) {
  EXPECT_EQ(defects_of("aten::reluu: {7: Relu}"), "1:1: no operator `aten::reluu` is known; did you mean `aten::relu`?\n");
  EXPECT_EQ(defects_of("aten::add.Tensr: {7: Add}"), "1:1: `aten::add` has no overload `Tensr`; did you mean `Tensor`?\n");
  EXPECT_EQ(defects_of("prim::If: {7: If}"), "1:1: `prim::If` is on the list of structural operators too\n");
  EXPECT_EQ(defects_of("aten::own: {schema: \"aten::own(Tensor x) -> Tensor\", 7: {to: Relu, inputs: [x]}}"), "");
}

TEST(Lint, WhatFollowsByRule) {
  EXPECT_EQ(defects_of("aten::relu: {7: Relu}\naten::relu_: {7: Relu}"),
            "2:1: `aten::relu_` has the rows of `aten::relu` by rule; leave it out\n");
  EXPECT_EQ(defects_of("aten::relu: {7: Relu}\naten::relu_: {alias: aten::relu}"),
            "2:1: `aten::relu_` has the rows of `aten::relu` by rule; leave it out\n");
  EXPECT_EQ(defects_of("aten::relu: {7: Relu}\naten::relu_: {7: Abs}"), "");
  EXPECT_EQ(defects_of("aten::add: {7: Add}\naten::add.out: {7: Add}"),
            "2:1: `aten::add.out` has the rows of `aten::add` by rule; leave it out\n");
}

TEST(Lint, Aliases) {
  EXPECT_EQ(defects_of("aten::multiply: {alias: aten::mull}\naten::mul: {7: Mul}"),
            "1:1: alias of `aten::mull`, which the tables don't hold; did you mean `aten::mul`?\n");
  EXPECT_EQ(defects_of("aten::mul: {7: Mul}\naten::multiply: {alias: aten::mul}\naten::divide: {alias: aten::multiply}"),
            "3:1: alias of `aten::multiply`, itself an alias; name `aten::mul`\n");
  EXPECT_EQ(defects_of("aten::mul: {7: Mul}\naten::relu: {alias: aten::mul}"),
            "2:1: alias of `aten::mul`, every overload of which needs arguments that are missing in aten::relu(Tensor self) -> "
            "Tensor\n");
  EXPECT_EQ(defects_of("aten::gelu: {20: {to: Gelu, attributes: {approximate: approximate}}}\naten::relu: {alias: aten::gelu}"),
            "2:1: alias of `aten::gelu`, whose rows name the argument `approximate`; `aten::relu` has none\n");
}

TEST(Lint, FactsAndConditions) {
  EXPECT_EQ(defects_of("aten::relu: {facts: sane, 7: Relu}"),
            "1:1: `facts: sane` isn't a word for facts; did you mean `same`?\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {to: Relu, requires: output_divide}}"),
            "1:17: `requires` a condition `output_divide` that isn't registered; did you mean `output_divides`?\n");
}

TEST(Lint, Arguments) {
  EXPECT_EQ(defects_of("aten::relu: {7: {to: Relu, inputs: [slef]}}"),
            "1:17: `aten::relu` has no argument `slef`; did you mean `self`?\n");
  EXPECT_EQ(defects_of("aten::mul: {7: {to: Mul, inputs: [self, self]}}"), "1:16: `self` is in `inputs` twice\n");
  EXPECT_EQ(defects_of("aten::elu: {7: {to: Elu, attributes: {alpha: alfa}}}"),
            "1:16: `aten::elu` has no argument `alfa`; did you mean `alpha`?\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {to: Relu, when: {slef: {rank: 4}}}}"),
            "1:35: `aten::relu` has no argument `slef`; did you mean `self`?\n");
}

TEST(Lint, ConditionsThatNeverHold) {
  const auto defect = [](const std::string& when) {
    return defects_of("aten::avg_pool2d: {7: {to: AveragePool, when: {" + when + "}}}");
  };
  EXPECT_EQ(defect("ceil_mode: 1"), "1:48: `ceil_mode` never equals `1`: it is bool\n");
  EXPECT_EQ(defect("ceil_mode: on"), "1:48: `ceil_mode` never equals `on`: it is bool\n");
  EXPECT_EQ(defect("ceil_mode: ~"), "1:48: `ceil_mode` never equals `~`: it is bool\n");
  EXPECT_EQ(defect("ceil_mode: {none: true}"), "1:48: `ceil_mode` is never None: it is bool\n");
  EXPECT_EQ(defect("stride: 1"),
            "1:48: `stride` never equals `1`: it is int[]; {each: …} speaks of its members, {equals: […]} of the list\n");
  EXPECT_EQ(defect("stride: {each: a}"), "1:48: `stride` never equals `a`: it is int\n");
  EXPECT_EQ(defect("stride: {equals: [a]}"), "1:48: `stride` never holds `a`: it is int[]\n");
  EXPECT_EQ(defect("stride: {min: 1}"), "1:48: `stride` is no number: it is int[]\n");
  EXPECT_EQ(defect("ceil_mode: {each: true}"), "1:48: `ceil_mode` is no list: it is bool\n");
  EXPECT_EQ(defect("ceil_mode: {length: 2}"), "1:48: `ceil_mode` has no length: it is bool\n");
  EXPECT_EQ(defect("ceil_mode: {rank: 2}"), "1:48: `ceil_mode` is no tensor: it is bool\n");
  EXPECT_EQ(defect("self: {not: {each: 1}}"), "1:48: `self` is no list: it is Tensor\n");
  EXPECT_EQ(defect("self: {used: true}"), "1:48: `self` is an argument; `used` is about outputs.N\n");
  EXPECT_EQ(defect("outputs.1: {used: true}"), "1:48: `aten::avg_pool2d` has no output 1\n");
  EXPECT_EQ(defect("outputs.0: {each: 3}"), "1:48: `outputs.0` is no list: it is Tensor\n");
  EXPECT_EQ(defect("outputs.0: {constant: true}"), "");
  EXPECT_EQ(defect("tensors: {each: 3}"), "1:48: `tensors`: each is no list: it is Tensor?\n");
  EXPECT_EQ(defect("divisor_override: ~"), "");
  EXPECT_EQ(defects_of("aten::squeeze: {11: {to: Squeeze, when: {dim: ~}}}"), "") << "one overload has no dim";
  EXPECT_EQ(defect("stride: {equals: []}"), "");
}

TEST(Lint, WhatPyTorchDemands) {
  EXPECT_EQ(defects_of("aten::avg_pool2d: {valid: {when: {kernel: {each: {min: 1}}}, requires: output_divide}, 7: AveragePool}"),
            "1:1: `requires` a condition `output_divide` that isn't registered; did you mean `output_divides`?\n"
            "1:35: `aten::avg_pool2d` has no argument `kernel`\n");
  EXPECT_EQ(
      defects_of("aten::avg_pool2d: {valid: {when: {kernel_size: {each: {min: 1}}}, requires: output_divides}, 7: AveragePool}"),
      "");
}

TEST(Lint, Schemas) {
  EXPECT_EQ(defects_of("acme::f:\n  schema: acme::f(Tensor x, y) -> Tensor\n  9: acme::F"),
            "2:30: no schema: expected the argument's name, found ')'\n");
  EXPECT_EQ(defects_of("acme::f: {schema: \"acme::f(Tensor x\", 9: acme::F}"),
            "1:36: no schema: expected ',' or ')' after an argument, found the end of the text\n");
  EXPECT_EQ(defects_of("acme::f:\n  schema: >\n    acme::f(Tensor x,\n    y) -> Tensor\n  9: acme::F"),
            "2:11: no schema: expected the argument's name, found ')', at character 20\n");
  EXPECT_EQ(defects_of("acme::f: {schema: \"acme::g(Tensor x) -> Tensor\", 9: acme::F}"),
            "1:19: a schema of `acme::g` under the operator `acme::f`\n");
  EXPECT_EQ(defects_of("acme::f.a: {schema: \"acme::f.b(Tensor x) -> Tensor\", 9: acme::F}"),
            "1:21: a schema of `acme::f.b` under the operator `acme::f.a`\n");
  EXPECT_EQ(defects_of("acme::f: {schema: \"acme::f.b(Tensor x) -> Tensor\", 9: acme::F}"), "");
}

TEST(Lint, RowsThatAreNeverReached) {
  EXPECT_EQ(defects_of("aten::relu:\n  7:\n    - Relu\n    - {to: Abs, when: {self: {rank: 4}}}\n"),
            "4:7: never reached: the row on line 3 takes every call\n");
  EXPECT_EQ(defects_of("aten::relu:\n  7:\n    - {to: Relu, when: {self: {rank: 4}}}\n    - {to: Abs, when: {self: {rank: 4, "
                       "dtype: f32}}}\n    - {to: Neg, when: [{self: {rank: 4}}]}\n"),
            "5:7: never reached: the row on line 3 takes all that this one would\n");
  EXPECT_EQ(defects_of("aten::relu:\n  7:\n    - {to: Abs, complex: true}\n    - Relu\n"), "");
}

TEST(Lint, ArgumentsWithParts) {
  EXPECT_EQ(defects_of("aten::relu:\n  parts: [self]\n  7: Relu\n"), "");
  EXPECT_EQ(defects_of("aten::relu:\n  parts: [other]\n  7: Relu\n"), "1:1: `aten::relu` has no argument `other`\n");
}

TEST(Lint, EntriesThatSayNothingNew) {
  EXPECT_EQ(defects_of("aten::relu:\n  7: Relu\n  13: Relu\n"), "3:3: says what opset 7 said already; an entry holds upward\n");
  EXPECT_EQ(defects_of("torchvision::roi_align:\n  10: {to: RoiAlign, when: {aligned: false}}\n  16: same\n"), "");
}

TEST(Lint, NothingIsInheritedAcrossAChangeOfMeaning) {
  EXPECT_EQ(
      defects_of("torchvision::roi_align:\n  10: RoiAlign\n"),
      "2:3: ends at opset 16, where RoiAlign changed its meaning (shifted by half a pixel); an entry for opset 16 is missing\n");
}

TEST(Lint, Refusals) {
  EXPECT_EQ(defects_of("aten::relu: {missing: no}"), "1:14: `hint` is missing: say what the user can do\n");
  EXPECT_EQ(defects_of("aten::relu:\n  7:\n    - {refuse: no, when: {self: {rank: 4}}}\n    - Relu\n"),
            "3:7: `hint` is missing: say what the user can do\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {refuse: no, hint: h}}"), "1:17: refuses every call; that is `missing`\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {refuse: no, hint: h, when: {self: {rank: 4}}}}"),
            "1:17: refuses some calls and maps none; that is `missing`\n");
}

TEST(Lint, OnnxOperators) {
  EXPECT_EQ(defects_of("aten::gelu: {9: Gelu}"), "1:17: `Gelu` is in ONNX from opset 20, this entry holds from 9\n");
  EXPECT_EQ(defects_of("aten::upsample_nearest2d: {9: Upsample}"),
            "1:31: `Upsample` is deprecated from opset 10, this entry holds from 9 to 26\n");
  EXPECT_EQ(defects_of("aten::upsample_nearest2d: {9: Upsample, 10: Resize}"), "");
}

TEST(Lint, OnnxAttributes) {
  EXPECT_EQ(defects_of("aten::elu: {7: {to: Elu, attributes: {alfa: alpha}}}"),
            "1:16: Elu has no attribute `alfa`; did you mean `alpha`?\n");
  EXPECT_EQ(defects_of("aten::avg_pool2d: {7: {to: AveragePool, attributes: {ceil_mode: ceil_mode}}}"),
            "1:23: AveragePool has no attribute `ceil_mode`\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {to: [Elu, Selu], attributes: {gama: 1.0}}}"),
            "1:17: none of the operators in `to` has an attribute `gama`; did you mean `gamma`?\n");
  EXPECT_EQ(defects_of("aten::relu: {7: {to: [Elu, Selu], attributes: {gamma: 1.0}}}"), "");
  EXPECT_EQ(defects_of("aten::topk: {7: {to: TopK, attributes: {k: k}}}"), "1:17: TopK has no attribute `k` at opset 10\n")
      << "unless the step says `moved`";
}

TEST(Lint, OnnxAttributeTypes) {
  EXPECT_EQ(defects_of("aten::elu: {7: {to: Elu, attributes: {alpha: [1, 2]}}}"),
            "1:16: attribute `alpha` of Elu is FLOAT; the constant isn't\n");
  EXPECT_EQ(defects_of("aten::elu: {7: {to: Elu, attributes: {alpha: 1}}}"), "");
  EXPECT_EQ(defects_of("aten::triu: {14: {to: Trilu, attributes: {upper: 0.5}}}"),
            "1:18: attribute `upper` of Trilu is INT; the constant isn't\n");
  EXPECT_EQ(defects_of("aten::triu: {14: {to: Trilu, attributes: {upper: {constant: up}}}}"),
            "1:18: attribute `upper` of Trilu is INT; the constant isn't\n");
  EXPECT_EQ(defects_of("aten::gelu: {20: {to: Gelu, attributes: {approximate: 1}}}"),
            "1:18: attribute `approximate` of Gelu is STRING; the constant isn't\n");
  EXPECT_EQ(defects_of("aten::triu: {14: {to: Trilu, attributes: {upper: self}}}"),
            "1:18: attribute `upper` of Trilu is INT; argument `self` is Tensor\n");
  EXPECT_EQ(defects_of("aten::gelu: {20: {to: Gelu, attributes: {approximate: self}}}"),
            "1:18: attribute `approximate` of Gelu is STRING; argument `self` is Tensor\n");
}

TEST(Lint, NumbersOfInputs) {
  EXPECT_EQ(defects_of("aten::relu: {7: {to: Add, inputs: [self]}}"), "1:17: Add takes 2 inputs at opset 7, the row gives 1\n");
  EXPECT_EQ(defects_of("aten::mul: {7: {to: Relu, inputs: [self, other]}}"),
            "1:16: Relu takes 1 input at opset 7, the row gives 2\n");
  EXPECT_EQ(defects_of("aten::unsqueeze: {7: {to: Unsqueeze, inputs: [self]}}"),
            "1:22: Unsqueeze takes 2 inputs at opset 13, the row gives 1\n");
  EXPECT_EQ(defects_of("aten::squeeze.dim: {11: {to: Squeeze, inputs: [self, dim], attributes: {axes: dim}}}"),
            "1:25: Squeeze takes 1 input at opset 11, the row gives 2\n");
  EXPECT_EQ(defects_of("aten::squeeze.dim: {13: {to: Squeeze, inputs: [self, dim], attributes: {axes: dim}}}"),
            "1:25: Squeeze takes 1 to 2 inputs at opset 13, the row gives 3\n");
}

TEST(Lint, Handlers) {
  constexpr std::string_view names[] = {"aten::gelu",    "aten::nothing", "aten::pinverse",
                                        "aten::max.dim", "aten::softmax", "aten::div"};
  EXPECT_EQ(defects_of("aten::gelu: {9: {to: [Div, Erf]}, 20: Gelu}\n"
                       "aten::silu: {7: {to: [Sigmoid, Mul]}}\n"
                       "aten::pinverse: {7: {missing: no decomposition, hint: none}}\n"
                       "aten::div: {7: {to: [Div, Floor]}}\n"
                       "aten::max: {7: {to: [ReduceMax, Squeeze]}}\n"
                       "aten::softmax.int: {7: {to: [Softmax, Cast]}}\n",
                       names),
            "1:1: a handler for `aten::max.dim`, which the tables don't name\n"
            "1:1: a handler for `aten::nothing`, which the tables don't name\n"
            "2:17: a row of several ONNX operators needs a handler, and `aten::silu` has none\n"
            "3:1: a handler for `aten::pinverse`, which no row maps at any opset\n"
            "5:16: a row of several ONNX operators needs a handler, and `aten::max` has none\n");
}

std::string change_defects(const std::string& text, const std::string& only) {
  const mapping::Table table = mapping::table_of({.operators = "", .changes = text});
  const schema::Registry schemas;
  std::string found;
  for (const mapping::Defect& defect : check(table, {schemas, {}, {}, {}}))
    if (defect.message.find(only) != std::string::npos)
      found += std::to_string(defect.place.line) + ":" + std::to_string(defect.place.column) + ": " + defect.message + "\n";
  return found;
}

TEST(Lint, VersionStepsOfOnnx) {
  EXPECT_EQ(change_defects("", "RoiAlign"), "1:1: RoiAlign 10-16 isn't classed\n1:1: RoiAlign 16-22 isn't classed\n");
  EXPECT_EQ(change_defects("RoiAlign: {10-16: {meaning: m}, 16-22: {types: t}, 16-21: {types: t}}", "RoiAlign"),
            "1:52: RoiAlign has no version step 16-21\n");
  EXPECT_EQ(change_defects("RoiAling: {10-16: {meaning: m}}", "RoiAling"), "1:12: RoiAling has no version step 10-16\n");
  EXPECT_EQ(change_defects("Clip: {6-11: {extended: e}}", "attribute"),
            "1:8: attribute `max` went: a row for the old form is wrong from opset 11; that is `meaning`, or `moved`\n");
  EXPECT_EQ(change_defects("Clip: {6-11: {extended: e, moved: {min: min, max: max}}}", "attribute"), "");
  EXPECT_EQ(change_defects("Clip: {6-11: {meaning: e, moved: {mni: min}}}", "Clip has"),
            "1:8: Clip has no attribute `mni` at 6\n");
  EXPECT_EQ(change_defects("Clip: {6-11: {meaning: e, moved: {min: mini}}}", "Clip has"),
            "1:8: Clip has no input `mini` at 11\n");
  EXPECT_EQ(change_defects("Upsample: {9-10: {extended: e}}", "deprecated"),
            "1:12: the operator is deprecated: a row for the old form is wrong from opset 10; that is `meaning`, or `moved`\n");
  EXPECT_EQ(change_defects("Reshape: {13-14: {types: e}}", "more than"),
            "1:11: more than the types changed: attributes, inputs or outputs differ\n");
}

// Of a user's file over these rows.
std::string users_defects(const std::string& below, const std::string& users) {
  mapping::Table table = mapping::table_of({.operators = below, .changes = std::string(changes)});
  EXPECT_TRUE(table.overlay_text(users, "my.yaml").empty());
  const schema::Registry schemas;
  std::string text;
  for (const mapping::Defect& defect : check_users(table, {schemas, conditions, fact_words, {}}))
    text += defect.place.file + ":" + std::to_string(defect.place.line) + ":" + std::to_string(defect.place.column) + ": " +
            defect.message + "\n";
  return text;
}

TEST(LintUsers, OnlyTheirOwnRowsAndEachDefectOnce) {
  const std::string below = "aten::abs: {7: NoSuch}\naten::add: {7: NoSuch}\naten::add.Scalar: {7: NoSuch}\n";
  EXPECT_EQ(users_defects(
                below, "aten::add: {9: {to: Ad, inputs: [slef, other]}}\naten::relu: {9: {to: Relu, when: {slef: {rank: 4}}}}\n"),
            "my.yaml:1:16: ONNX has no operator `Ad`; did you mean `Add`?\n"
            "my.yaml:1:16: `aten::add` has no argument `slef`; did you mean `self`?\n"
            "my.yaml:2:35: `aten::relu` has no argument `slef`; did you mean `self`?\n");
}

TEST(LintUsers, ABaseNameSpeaksForOverloadsWithShippedRows) {
  EXPECT_EQ(users_defects("aten::max: {7: ReduceMax}\naten::max.dim: {7: ReduceMax}\n",
                          "aten::max: {9: {to: acme::Max, inputs: [self, dim], when: {keepdim: false}}}"),
            "");
}

// The defects of a user's file.
std::string users_defects_of(const std::string& rows) {
  mapping::Table table = mapping::table_of({.operators = "aten::relu: {7: Relu}\n", .changes = std::string(changes)});
  auto defects = table.overlay_text(rows, "user.yaml");
  schema::Registry schemas;
  for (const std::string& schema : table.schemas()) schemas.add(schema);
  std::ranges::move(check_users(table, {schemas, conditions, fact_words, {}}), std::back_inserter(defects));
  std::string text;
  for (const mapping::Defect& defect : defects)
    text += std::to_string(defect.place.line) + ":" + std::to_string(defect.place.column) + ": " + defect.message + "\n";
  return text;
}

TEST(LintUsers, AHandlerWritesItsOwnNodes) {
  handlers::Registry registry;
  registry.handler("aten::gelu", [](handlers::Emission&) {});
  const auto defects = [&](const std::string& row) {
    mapping::Table table = mapping::Table::shipped();
    EXPECT_TRUE(table.overlay_text("aten::gelu: {9: " + row + "}", "user.yaml").empty());
    const schema::Registry schemas;
    std::string text;
    for (const auto& defect :
         check_users(table, {.schemas = schemas, .conditions = {}, .fact_words = {}, .handlers = {}, .variants = &registry}))
      text += defect.message + "\n";
    return text;
  };
  EXPECT_EQ(defects("{to: [Erf, Sin]}"),
            "the C++ handler of `aten::gelu` writes the nodes of this row, and it never writes Sin; write your own nodes with "
            "`inline`\n");
  EXPECT_THAT(defects("{to: [Erf, Mul]}"), testing::HasSubstr("this row, and for some calls it also writes Div, Add"));
  EXPECT_EQ(defects("{to: [Erf, Mul], when: {approximate: none}}"), "") << "of these calls, which nodes isn't known";
  EXPECT_EQ(defects("{to: [Mul, Add, Erf, Div]}"), "") << "what a shipped row names";
  EXPECT_EQ(defects("Erf"), "") << "as it is written";
}

TEST(LintUsers, NoTensorIsDroppedSilently) {
  EXPECT_EQ(users_defects_of("aten::add.Tensor: {9: {to: Relu, inputs: [self]}}"),
            "1:23: `inputs` leaves out the argument `other` of aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
            "Tensor: "
            "name it there, or say that it is dropped by {none: other} at the end\n");
  EXPECT_EQ(users_defects_of("aten::add.Tensor: {9: {to: Relu, inputs: [self, {none: other}]}}"), "");
  EXPECT_EQ(users_defects_of("aten::add: {9: {to: Relu, inputs: [self]}}").substr(0, 48),
            "1:16: `inputs` leaves out the argument `other` o");
  const std::string schema =
      "acme::f: {schema: \"acme::f(Tensor x, Tensor y, Tensor? z, *, Tensor[] w, Generator? generator=None) -> Tensor\", 9: "
      "{inputs: [";
  const std::string text = "], inline: \"F (a) => (b) { b = Relu (a) }\"}}";
  EXPECT_EQ(users_defects_of(schema + "x, {none: y}" + text).substr(0, 54),
            "1:116: `inputs` leaves out the argument `w` of acme::f");
  EXPECT_EQ(users_defects_of(schema + "x, {none: w}, {none: y}" + text), "");
  EXPECT_EQ(users_defects_of("acme::max: {schema: \"acme::max(Tensor self, Tensor other) -> Tensor\", 9: {to: acme::M, inputs: "
                             "[self], attributes: {o: {none: other}}}}"),
            "");
  // Calls of one overload are right; those of the others are refused.
  EXPECT_EQ(users_defects_of("aten::max: {9: {to: ReduceMax, inputs: [self], attributes: {keepdims: 0}}}"), "");
}

TEST(LintUsers, InputsThatAreLeftOut) {
  EXPECT_EQ(users_defects_of("aten::lcm: {9: {to: Add, inputs: [~, self, {none: other}]}}"),
            "1:16: Add needs its input `A`, which the row leaves out\n");
  EXPECT_EQ(users_defects_of("aten::exp: {9: {to: acme::E, inputs: [~, {none: self}]}}"),
            "1:16: `inputs` leaves out every input; write `inputs: []` where the node takes none\n");
  EXPECT_EQ(users_defects_of("aten::exp: {9: {to: acme::E, inputs: [~, self]}}"), "");
}

TEST(LintUsers, MayRepeatAndEndWithoutAnAnswer) {
  EXPECT_EQ(users_defects("aten::relu: {7: Relu}\n", "aten::relu: {9: Relu}"), "");
  EXPECT_EQ(users_defects("aten::relu: {7: Relu}\n", "aten::relu_: {7: Relu}"), "");
  EXPECT_EQ(users_defects("", "aten::relu: {9: {missing: not here}}"), "");
  EXPECT_EQ(users_defects("", "torchvision::roi_align: {10: RoiAlign}"), "");
  EXPECT_EQ(users_defects("", "aten::relu: {9: Relu, 11: Relu}"),
            "my.yaml:1:23: says what opset 9 said already; an entry holds upward\n");
}

}  // namespace
}  // namespace compatcheck::lint
