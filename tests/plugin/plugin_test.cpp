// Plugins: what they bring is in force, and what is wrong with them is an error with its place or a finding, never a crash.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/reference.h"

namespace compatcheck {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string folder = COMPATCHECK_BINARY_DIR "/tests/plugins/";

Model model_of(const std::string& text, const std::string& plugin = "good.so", std::vector<std::filesystem::path> mappings = {}) {
  return Loader({.mappings = std::move(mappings), .plugins = {folder + plugin}}).load(std::as_bytes(std::span(text)), "model.ir");
}

Model of_x(const std::string& op, const std::string& plugin = "good.so", const std::string& x = "Float(3, 5)") {
  return model_of("graph(%x : " + x + "):\n  %y : Tensor = " + op + "(%x)\n  return (%y)\n", plugin);
}

std::string only_finding(const Report& report) {
  return report.findings.size() == 1 ? std::string(report.findings[0].id) + " " + report.findings[0].message
                                     : std::to_string(report.findings.size()) + " findings";
}

const OperatorSummary& summary_of(const Report& report, const std::string& op) {
  for (const auto& one : report.operators)
    if (one.op == op) return one;
  throw std::runtime_error("no " + op);
}

// Verdict and conversion agree.
Report converted(const Model& model, int opset = 17) {
  const auto file = std::filesystem::path(testing::TempDir()) / "plugin_test.onnx";
  std::filesystem::remove(file);
  ConvertOptions options;
  options.opset = opset;
  const Report report = convert(model, file, options);
  EXPECT_EQ(std::filesystem::exists(file), report.convertible());
  EXPECT_EQ(report.convertible(), check(model, {.opset = opset}).convertible());
  return report;
}

TEST(Plugin, HandlersReadEveryKindOfArgument) {
  const Model model = model_of(R"(graph(%x : Float(2), %p : Float(2)):
  %count : int = prim::Constant[value=3]()
  %scale : float = prim::Constant[value=0.5]()
  %sizes : int[] = prim::Constant[value=[4, 5]]()
  %weights : float[] = prim::Constant[value=[0.25, 0.75]]()
  %flag : bool = prim::Constant[value=1]()
  %mode : str = prim::Constant[value="wide"]()
  %bias : NoneType = prim::Constant()
  %parts : Tensor[] = prim::ListConstruct(%p, %x)
  %y : Tensor = acme::reads(%x, %count, %scale, %sizes, %weights, %flag, %mode, %bias, %parts)
  return (%y)
)");
  const Report report = converted(model);
  EXPECT_TRUE(report.convertible()) << only_finding(report);
  EXPECT_EQ(summary_of(report, "acme::reads").emitted.at("Add"), 4);
}

TEST(Plugin, TheReportNamesItsRow) {
  const Report report = converted(of_x("aten::relu"), 12);
  const auto& relu = summary_of(report, "aten::relu");
  EXPECT_EQ(relu.operator_class, OperatorClass::one_to_many);
  EXPECT_THAT(relu.onnx, ElementsAre("Max", "Mul"));
  ASSERT_EQ(relu.rows.size(), 1u);
  EXPECT_EQ(relu.rows[0].place, folder + "good.so(aten::relu from 9):1");
}

TEST(Plugin, HandlersHoldAtTheirOpsets) {
  const Model model = of_x("aten::relu");
  for (const int opset : {7, 8, 9, 12, 13, 26}) {
    const auto emitted = summary_of(check(model, {.opset = opset}), "aten::relu").emitted;
    EXPECT_EQ(emitted.contains("Mul"), opset >= 9 && opset <= 12) << opset;
    EXPECT_EQ(emitted.contains("Relu"), opset < 9 || opset > 12) << opset;
  }
  EXPECT_EQ(summary_of(converted(model, 8), "aten::relu").onnx, std::vector<std::string>{"Relu"});
}

TEST(Plugin, InPlaceFormsFollow) {
  EXPECT_TRUE(summary_of(check(of_x("aten::relu_"), {.opset = 10}), "aten::relu").emitted.contains("Mul"));
}

TEST(Plugin, AChangeOfMeaningIsTheHandlersToAnswer) {
  const Model model = model_of(R"(graph(%x : Float(2, 3)):
  %dim : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %y : Tensor = aten::softmax(%x, %dim, %none)
  return (%y)
)");
  EXPECT_TRUE(converted(model, 17).convertible());
  EXPECT_EQ(only_finding(converted(model, 12)), "CC005 only from opset 13 (plugin " + folder + "good.so)");
}

TEST(Plugin, WhatItsFunctionsDoWrongIsAFinding) {
  const std::string failed = "CC005 plugin " + folder + "good.so failed in its handler of ";
  EXPECT_EQ(only_finding(converted(of_x("acme::throwing"))), failed + "acme::throwing: out of luck");
  EXPECT_EQ(only_finding(converted(of_x("acme::throwing_a_number"))),
            failed + "acme::throwing_a_number: something that is no std::exception was thrown");
  EXPECT_EQ(only_finding(converted(of_x("acme::forgetful"))), failed + "acme::forgetful: it gave no output 0");
  EXPECT_THAT(only_finding(converted(of_x("acme::misspelling"))), HasSubstr(failed + "acme::misspelling: "));
  const Report refused = converted(of_x("acme::refusing"));
  EXPECT_EQ(only_finding(refused), "CC005 not on a Sunday (plugin " + folder + "good.so)");
  EXPECT_EQ(refused.findings[0].help, "wait");
  EXPECT_EQ(only_finding(converted(of_x("acme::modern"), 13)),
            "CC005 ONNX has no Gelu before opset 20 (plugin " + folder + "good.so)");
}

TEST(Plugin, WhatItsFunctionsMisuseIsAFinding) {
  const std::pair<const char*, const char*> cases[] = {
      {"permuting", "transpose: its order has 1 dimension, the tensor 2"},
      {"permuting_twice", "transpose: its order isn't each dimension once"},
      {"squeezing", "there is no dimension 3"},
      {"gathering", "there is no dimension -1"},
      {"overflowing", "i8 holds no 300"},
      {"overflowing_half", "f16 holds no 1000000"},
      {"halving_an_integer", "i64 holds no 0.5"},
      {"misnaming", "`a::b::c` isn't the name of an ONNX operator"},
      {"unnaming", "`` isn't the name of an ONNX operator"},
      {"blank", "`acme::a b` isn't the name of an ONNX operator"},
  };
  for (const auto& [name, why] : cases)
    EXPECT_THAT(only_finding(converted(of_x(std::string("acme::") + name))),
                HasSubstr("CC005 plugin " + folder + "good.so failed in its handler of acme::" + name + ": " + why));
  EXPECT_FALSE(converted(of_x("acme::permuting_inside")).convertible());
}

TEST(Plugin, AnUnknownThatItThrowsItselfIsReportedAsThat) {
  EXPECT_EQ(only_finding(converted(of_x("acme::unknowing"))),
            "CC005 plugin " + folder + "good.so: its handler of acme::unknowing says that something isn't known, and not what");
  EXPECT_EQ(only_finding(converted(of_x("acme::unknowing_facts"))), "CC005 the dtype of the result isn't known");
}

TEST(Plugin, HandlesBelongToTheirCall) {
  const Model model = of_x("acme::keeping");
  check(model, {.opset = 17});
  EXPECT_THAT(only_finding(check(model, {.opset = 9})),
              HasSubstr("failed in its handler of acme::keeping: a value of another call"));
  const Model sizes = of_x("acme::keeping_a_size");
  const auto twice = [&] {
    for (int call = 0; call < 2; ++call) check(sizes);
  };
  EXPECT_THAT(twice, ThrowsMessage<TableError>(HasSubstr("failed in its facts of acme::keeping_a_size: a size of another call")));
}

TEST(Plugin, FactsAreOfTheResultsType) {
  const std::string failed = folder + "good.so failed in its facts of acme::";
  EXPECT_THAT([] { check(of_x("acme::an_integer")); },
              ThrowsMessage<TableError>(HasSubstr(failed + "an_integer: output 0 is Tensor, and an integer is stated of it")));
  const Model model =
      model_of("graph(%x : Float(3, 5)):\n  %n : int = acme::a_tensor(%x)\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)\n");
  EXPECT_THAT([&] { check(model); },
              ThrowsMessage<TableError>(HasSubstr(failed + "a_tensor: output 0 is int, and a tensor is stated of it")));
}

TEST(Plugin, BrokenFactsAreAnError) {
  EXPECT_THAT([] { check(of_x("acme::broken_facts")); },
              ThrowsMessage<TableError>(HasSubstr("good.so failed in its facts of acme::broken_facts: facts went wrong")));
}

TEST(Plugin, WhatIsntKnownNeedsInput) {
  const Report report = converted(of_x("acme::demanding", "good.so", "Tensor"));
  EXPECT_EQ(report.verdict, Verdict::needs_input);
  EXPECT_THAT(only_finding(report), HasSubstr("CC006"));
  EXPECT_TRUE(converted(of_x("acme::demanding")).convertible());
}

TEST(Plugin, ItMayDoWithoutWhatIsntKnown) {
  const Model model = of_x("acme::contented", "good.so", "Tensor");
  EXPECT_TRUE(summary_of(check(model, {.inputs = {"f32:n,4"}}), "acme::contented").emitted.contains("Abs"));
  EXPECT_TRUE(summary_of(check(model, {.inputs = {"f32:3,4"}}), "acme::contented").emitted.contains("Neg"));
}

TEST(Plugin, FactsOfItsOwn) {
  for (const char* op : {"acme::halves", "acme::by_word"}) {
    const Report report = check(model_of("graph(%x : Tensor):\n  %h : Tensor = " + std::string(op) +
                                         "(%x)\n  %y : Tensor = acme::demanding(%h)\n  return (%y)\n"),
                                {.inputs = {"f32:7,4"}});
    EXPECT_TRUE(report.convertible()) << op << ": " << only_finding(report);
    EXPECT_EQ(report.model.outputs.size(), 1u);
  }
}

TEST(Plugin, ConditionsAndRows) {
  EXPECT_TRUE(converted(of_x("acme::wide")).convertible());
  EXPECT_EQ(only_finding(converted(of_x("acme::wide", "good.so", "Float(5, 3)"))), "CC005 the last dimension of x is below 4");
}

TEST(Plugin, InC) {
  EXPECT_TRUE(converted(of_x("acme::negate", "in_c.so")).convertible());
  EXPECT_THAT(only_finding(converted(of_x("acme::forge", "in_c.so"))), HasSubstr("a value of another call"));
  EXPECT_THAT(only_finding(converted(of_x("acme::hide", "in_c.so"))), HasSubstr("it doesn't say why the call is refused"));
}

TEST(Plugin, UsersRowsWinOverIt) {
  const auto file = std::filesystem::path(testing::TempDir()) / "plugin_test.yaml";
  std::ofstream(file) << "aten::relu: {11: {missing: \"not any more\"}}\nacme::other: {schema: \"acme::other(Tensor x) -> "
                         "Tensor\", facts: same, 9: {to: Abs, requires: wide_enough}}\n";
  const std::string graph =
      "graph(%x : Float(3, 5)):\n  %a : Tensor = acme::other(%x)\n  %y : Tensor = aten::relu(%a)\n  return (%y)\n";
  EXPECT_TRUE(check(model_of(graph, "good.so", {file}), {.opset = 10}).convertible());
  EXPECT_FALSE(check(model_of(graph, "good.so", {file}), {.opset = 11}).convertible());
  // Its conditions are known where tables are held against them.
  EXPECT_TRUE(lint_tables({file}, {folder + "good.so"}).empty());
  EXPECT_EQ(lint_tables({file}).size(), 1u);
}

TEST(Plugin, OpsAndExplainShowIt) {
  const ReferenceOptions options{.plugins = {folder + "good.so"}};
  EXPECT_THAT(explain("aten::relu", options),
              AllOf(HasSubstr("9–     Max, Mul"), HasSubstr("good.so(aten::relu from 9):1"), HasSubstr("13–     Relu")));
  EXPECT_THAT(describe_operators({"acme::halves"}, options), HasSubstr("Slice"));
}

std::string verdict_of(const Report& report) {
  std::string summary = std::to_string(static_cast<int>(report.verdict));
  for (const Finding& finding : report.findings) summary += "\n" + finding.id + " " + finding.message + " | " + finding.help;
  return summary;
}

// What is remembered of one opset holds at another where nothing differs that was asked for: an opset asked alone says what it
// says among all.
void expect_the_same_alone(const Model& model, const std::string& what) {
  std::vector<int> all;
  for (int opset = 7; opset <= 26; ++opset) all.push_back(opset);
  const auto together = check(model, all, {});
  for (const int opset : all)
    EXPECT_EQ(verdict_of(check(model, {.opset = opset})), verdict_of(together[static_cast<std::size_t>(opset - 7)]))
        << what << " at opset " << opset;
}

TEST(Plugin, AnOpsetAloneGivesTheReportThatItGivesAmongAll) {
  for (const char* name : {"throwing", "forgetful", "refusing", "misspelling", "demanding", "contented", "permuting",
                           "overflowing", "misnaming", "unknowing", "halves", "wide"})
    expect_the_same_alone(of_x(std::string("acme::") + name), name);
  for (const char* op : {"aten::relu", "aten::relu_", "acme::nosuch"}) expect_the_same_alone(of_x(op), op);
  expect_the_same_alone(of_x("acme::demanding", "good.so", "Tensor"), "an unknown shape");
}

TEST(UsersRows, AnOpsetAloneGivesTheReportThatItGivesAmongAll) {
  const std::string schema = "acme::c: {schema: \"acme::c(Tensor x) -> Tensor\", facts: same, ";
  const auto text = [](const std::string& kind, const std::string& body) {
    return kind + ": \"<domain: \\\"acme\\\"> c (x) => (y) { " + body + " }\"";
  };
  const std::string rows[] = {
      schema + "8: {inputs: [x], " + text("function", "y = Max (x, x)") + "}}",  // from 12 on ONNX takes integers
      schema + "8: {inputs: [x], " + text("inline", "y = Max (x, x)") + "}}",
      schema + "9: {inputs: [x], " + text("function", "y = Relu (x)") + "}, 14: {inputs: [x], " +
          text("function", "z = Relu (x) y = Neg (z)") + "}}",
      schema + "13: {inputs: [x], " + text("inline", "y = Transpose (x)") + "}}",  // another shape than is stated
      schema + "9: {to: Cast, inputs: [x], attributes: {to: 7}}, 19: {to: Cast, inputs: [x], attributes: {to: 99}}}",
      schema + "9: {to: Elu, inputs: [x]}, 20: {to: Gelu, inputs: [x], when: {x: {dtype: f32}}}}",
      schema + "11: [{refuse: \"not this\", when: {x: {rank: 2}}}, acme::C]}",
      schema + "7: {missing: \"not yet\"}, 18: {to: acme::C, inputs: [x]}}",
  };
  const auto file = std::filesystem::path(testing::TempDir()) / "alone_test.yaml";
  for (const std::string& row : rows) {
    std::ofstream(file) << row << "\n";
    for (const char* x : {"Long(3, 5)", "Float(3, 5)", "Tensor"})
      expect_the_same_alone(model_of("graph(%x : " + std::string(x) +
                                         "):\n  %y : Tensor = acme::c(%x)\n  %z : Tensor = aten::neg(%y)\n  return (%z)\n",
                                     "good.so", {file}),
                            row + " of " + x);
  }
}

TEST(Plugin, ModelsOutliveTheirLoaderAndServeThreads) {
  const Model model = of_x("acme::contented");  // its loader is gone: the library must not be
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) EXPECT_TRUE(check(model, {.opset = 9 + i}).convertible());
    });
  for (std::thread& thread : threads) thread.join();
}

void expect_unusable(const std::string& plugin, const std::string& reason) {
  EXPECT_THAT([&] { Loader({.plugins = {folder + plugin}}); },
              ThrowsMessage<TableError>(AllOf(HasSubstr(folder + plugin), HasSubstr(reason))))
      << plugin;
}

TEST(PluginErrors, OfTheLibrary) {
  expect_unusable("nosuch.so", "nosuch.so: no such file");
  std::ofstream(folder + "text.so") << "this is no library\n";
  expect_unusable("text.so", "it can't be loaded");
  expect_unusable("no_plugin.so", "it is no plugin: it exports no compatcheck_plugin");
  expect_unusable("other_abi.so", "version 2 of the plugin interface, this compatcheck has version 1");
  expect_unusable("newer.so", "built with a newer compatcheck");
}

TEST(PluginErrors, OfWhatItRegisters) {
  const std::pair<const char*, const char*> cases[] = {
      {"throws", "it can't be entered: no licence"},
      {"throws a number", "no std::exception"},
      {"refuses", "not here"},
      {"unknown operator", "bad.so(aten::nosuch):1:1: no operator `aten::nosuch` is known"},
      {"no operator", "the handler for nosuch: an operator's name is namespace::name"},
      {"unknown ONNX operator", "ONNX has no operator `Ad`"},
      {"later ONNX operator", "`Gelu` is in ONNX from opset 20, this entry holds from 9"},
      {"schema", "no schema: "},
      {"facts", "`facts: sme` isn't a word for facts; did you mean `same`?"},
      {"rows", "bad.so(rows):2:7: unknown key `too`"},
      {"no YAML", "bad.so(rows):"},
      {"twice", "two handlers for acme::f, at opsets 9 to 12 and at opsets 12 to 20"},
      {"twice, unheard", "facts of acme::f twice"},
      {"no row", "its handler for acme::g at opset 7: no row maps that operator"},
      {"opsets", "opsets are 7 to 26"},
      {"unknown handler", "its handler for acme::h: unknown operator"},
      {"unknown facts", "its facts of acme::h: unknown operator"},
      {"unknown overload", "its facts of aten::max.nosuch: unknown operator"},
      {"no handler", "the handler for acme::f: no function"},
      {"no facts", "facts of acme::f: no function"},
      {"no condition", "the condition of tall: no function"},
      {"row and handler", "(rows):1 requires tall, and the handler for acme::f says what it emits"},
      {"condition", "a condition pool_fits is there already"},
  };
  for (const auto& [which, reason] : cases) {
    setenv("PLUGIN_CASE", which, 1);
    expect_unusable("bad.so", reason);
  }
  unsetenv("PLUGIN_CASE");
  EXPECT_NO_THROW(Loader({.plugins = {folder + "bad.so"}}));
}

}  // namespace
}  // namespace compatcheck
