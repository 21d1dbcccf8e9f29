// The export types on one graph each: which nodes are written, and that the check says so beforehand.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "analysis/onnx_model.h"
#include "analysis/prepare.h"
#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/error.h"
#include "days.h"
#include "onnx/proto.h"

namespace compatcheck {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* triu_mul = R"(graph(%x : Float(3, 3)):
  %zero : int = prim::Constant[value=0]()
  %above : Float(3, 3) = aten::triu(%x, %zero)
  %square : Float(3, 3) = aten::mul(%above, %x)
  return (%square)
)";

// The example's mappings: triu has none below opset 14.
Model load_text(std::string_view text) {
  return Loader({.mappings = {COMPATCHECK_SOURCE_DIR "/examples/15-export-types/one_node.yaml"}})
      .load(std::as_bytes(std::span(text)), "graph.ir");
}

onnx::Model model_of(const Model& model, const ConvertOptions& options) {
  const ir::Watch watch;
  const auto prepared = analysis::prepare(model.state(), analysis::check_options(options), watch);
  onnx::Model made = analysis::onnx_model(model.state(), prepared, options, watch);
  onnx::check(onnx::to_proto(made), made);
  return made;
}

ConvertOptions at(int opset, ExportType type) {
  ConvertOptions options;
  options.opset = opset;
  options.export_type = type;
  return options;
}

// "triu → org.pytorch.aten::ATen" as "org.pytorch.aten::ATen triu".
std::vector<std::string> nodes_of(const onnx::Model& model) {
  std::vector<std::string> nodes;
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) {
    std::string text = node.domain.empty() ? node.op : node.domain + "::" + node.op;
    for (const char* name : {"operator", "overload_name"})
      if (const auto* attribute = node.attribute(name)) text += " " + std::get<std::string>(attribute->value);
    nodes.push_back(text);
  });
  return nodes;
}

std::vector<std::string> nodes_of(const char* text, int opset, ExportType type) {
  return nodes_of(model_of(load_text(text), at(opset, type)));
}

TEST(ExportTypes, Onnx) {
  const auto report = check(load_text(triu_mul), {.opset = 13});
  EXPECT_EQ(report.verdict, Verdict::no);
  EXPECT_EQ(report.summary.kept, 0);
}

TEST(ExportTypes, AllAten) {
  EXPECT_THAT(nodes_of(triu_mul, 13, ExportType::onnx_aten),
              ElementsAre("org.pytorch.aten::ATen triu ", "org.pytorch.aten::ATen mul Tensor"));
}

TEST(ExportTypes, AtenWhereNothingElseServes) {
  EXPECT_THAT(nodes_of(triu_mul, 13, ExportType::onnx_aten_fallback), ElementsAre("org.pytorch.aten::ATen triu ", "Mul"));
  EXPECT_THAT(nodes_of(triu_mul, 14, ExportType::onnx_aten_fallback), ElementsAre("Trilu", "Mul"));
}

TEST(ExportTypes, Fallthrough) {
  const auto model = model_of(load_text(triu_mul), at(13, ExportType::onnx_fallthrough));
  EXPECT_THAT(nodes_of(model), ElementsAre("org.pytorch.aten::triu", "Mul"));
  EXPECT_THAT(model.domains, ElementsAre(std::pair<std::string, int>("org.pytorch.aten", 1)));
  EXPECT_THAT(model.graph.nodes.front().attributes, IsEmpty());
  EXPECT_EQ(model.graph.nodes.front().inputs.size(), 2);  // the number is an input, as in the schema
}

TEST(ExportTypes, Raw) {
  const auto model = model_of(load_text(triu_mul), at(13, ExportType::raw));
  EXPECT_THAT(nodes_of(model),
              ElementsAre("org.pytorch.prim::Constant", "org.pytorch.aten::triu", "org.pytorch.aten::mul Tensor"));
  EXPECT_EQ(model.values[model.graph.outputs.front()].name, "square");
}

TEST(ExportTypes, TheCheckKnows) {
  for (const auto type : {ExportType::onnx_aten, ExportType::onnx_aten_fallback, ExportType::onnx_fallthrough, ExportType::raw}) {
    const auto report = check(load_text(triu_mul), {.opset = 13, .export_type = type});
    EXPECT_EQ(report.verdict, Verdict::yes);
    EXPECT_TRUE(report.gate.passed);
    EXPECT_EQ(report.summary.lowest_opset, lowest_opset);
    EXPECT_EQ(report.summary.kept, type == ExportType::onnx_aten || type == ExportType::raw ? 2 : 1);
    ASSERT_EQ(report.findings.size(), 1);
    EXPECT_EQ(report.findings[0].id, "CC002");
    EXPECT_EQ(report.findings[0].severity, Severity::warning);
    EXPECT_EQ(report.findings[0].available_from, 14);
  }
}

TEST(ExportTypes, SumOfAList) {
  constexpr const char* text = R"(graph(%x : Float(2, 3)):
  %none : NoneType = prim::Constant()
  %keep : bool = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %dims : int[] = prim::ListConstruct(%one)
  %sum : Float(2) = aten::sum(%x, %dims, %keep, %none)
  return (%sum)
)";
  const auto model = model_of(load_text(text), at(13, ExportType::onnx_fallthrough));
  ASSERT_THAT(nodes_of(model), ElementsAre("ReduceSum"));
  EXPECT_EQ(std::get<std::int64_t>(model.graph.nodes[0].attribute("keepdims")->value), 0);
  EXPECT_THAT(nodes_of(text, 13, ExportType::onnx_aten), ElementsAre("org.pytorch.aten::ATen sum dim_IntList"));
}

TEST(ExportTypes, WhatHangsOnAnOperatorOfUnknownType) {
  constexpr const char* text = R"(graph(%x : Float(2, 3)):
  %y : Tensor = acme::fused(%x)
  %z : Tensor = aten::relu(%y)
  return (%z)
)";
  const Model model = load_text(text);
  EXPECT_EQ(check(model, {.opset = 13, .export_type = ExportType::onnx_aten_fallback}).verdict, Verdict::no);
  const auto made = model_of(model, at(13, ExportType::onnx_fallthrough));
  EXPECT_THAT(nodes_of(made), ElementsAre("acme::fused", "org.pytorch.aten::relu"));
  EXPECT_TRUE(made.values[made.graph.outputs.front()].untyped);
}

TEST(ExportTypes, ListsStringsAndWhatIsAbsent) {
  constexpr const char* text = R"(graph(%x : Float(2, 3), %i : Long(2)):
  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %word : str = prim::Constant[value="tanh"]()
  %half : float = prim::Constant[value=0.1]()
  %a : Float(2, 3) = aten::gelu(%x, %word)
  %b : Float(2, 3) = aten::clamp(%a, %none, %half)
  %pair : Tensor[] = prim::ListConstruct(%a, %b)
  %c : Float(4, 3) = aten::cat(%pair, %zero)
  %indices : Tensor?[] = prim::ListConstruct(%none, %i)
  %d : Float(4, 2) = aten::index(%c, %indices)
  return (%d)
)";
  EXPECT_THAT(
      nodes_of(text, 13, ExportType::onnx_aten),
      ElementsAre("Constant", "org.pytorch.aten::ATen gelu ", "org.pytorch.aten::ATen clamp ", "SequenceConstruct",
                  "org.pytorch.aten::ATen cat ", "org.pytorch.prim::ListConstruct", "org.pytorch.aten::ATen index Tensor"));
  EXPECT_THAT(nodes_of(text, 9, ExportType::onnx_aten), testing::Contains("org.pytorch.prim::ListConstruct").Times(2));
}

TEST(ExportTypes, AWriteThatWouldBeLostIsNeverKept) {
  constexpr const char* text = R"(graph(%x : Float(2, 3)):
  %one : int = prim::Constant[value=1]()
  %shape : int[] = prim::Constant[value=[3, 2]]()
  %flat : Tensor = aten::reshape(%x, %shape)
  %w : Tensor = aten::add_(%flat, %one, %one)
  %y : Tensor = aten::mul(%x, %flat)
  return (%x, %flat)
)";
  for (const auto type : {ExportType::onnx_aten, ExportType::onnx_aten_fallback, ExportType::onnx_fallthrough}) {
    const Model model = load_text(text);
    const auto report = check(model, {.opset = 13, .export_type = type});
    const auto plain = check(model, {.opset = 13});
    EXPECT_EQ(report.verdict, plain.verdict);
  }
}

TEST(ExportTypes, WhatPyTorchRefusesStaysRefused) {
  constexpr const char* text = R"(graph(%x : Float(2, 3), %y : Float(4, 5)):
  %z : Tensor = aten::mm(%x, %y)
  return (%z)
)";
  for (const auto type : {ExportType::onnx_aten, ExportType::onnx_aten_fallback, ExportType::onnx_fallthrough})
    EXPECT_EQ(check(load_text(text), {.opset = 13, .export_type = type}).verdict, Verdict::no);
}

TEST(ExportTypes, PythonFunctions) {
  constexpr const char* text = R"(graph(%x : Float(2, 3)):
  %y : Float(2, 3) = ^MyRelu()(%x)
  %z : Float(2, 3) = aten::neg(%y)
  return (%z)
)";
  const auto model = model_of(load_text(text), at(13, ExportType::onnx_fallthrough));
  EXPECT_THAT(nodes_of(model), ElementsAre("org.pytorch.prim::PythonOp", "Neg"));
  EXPECT_EQ(std::get<std::string>(model.graph.nodes[0].attribute("pyname")->value), "MyRelu");
  EXPECT_EQ(check(load_text(text), {.opset = 13, .export_type = ExportType::onnx_aten}).verdict, Verdict::no);
}

// It would be lost: the node gives a new value, and what reads the old one reads what was there before.
TEST(ExportTypes, AWriteThatNobodyStatesIsRefused) {
  const auto graph = [](const char* op) {
    return std::string("graph(%x : Float(3, 5)):\n  %one : int = prim::Constant[value=1]()\n  %w : Tensor = acme::") + op +
           "(%x, %one)\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n";
  };
  for (const auto type : {ExportType::onnx, ExportType::onnx_fallthrough}) {
    const Report report = check(load_text(graph("write_")), {.opset = 13, .export_type = type});
    EXPECT_EQ(report.verdict, Verdict::no);
    EXPECT_EQ(report.findings.front().severity, Severity::error);
  }
  EXPECT_EQ(check(load_text(graph("reads")), {.opset = 13, .export_type = ExportType::onnx_fallthrough}).verdict, Verdict::yes);
}

// As torch writes it today: the graph that was traced inside is an attribute.
TEST(ExportTypes, PlainArgumentsOfAFunctionAreInputsAlone) {
  constexpr const char* text = R"(graph(%x : Float(2, 3)):
  %y : Float(2, 3) = ^Scaled[inplace=0, module="net", Subgraph=<Graph>](0.5, [1, 2])(%x)
  return (%y)
)";
  for (const auto type : {ExportType::onnx_fallthrough, ExportType::raw}) {
    const auto model = model_of(load_text(text), at(13, type));
    const auto& node = model.graph.nodes.back();
    EXPECT_EQ(node.op, "PythonOp");
    EXPECT_EQ(node.inputs.size(), 3u);
    EXPECT_NE(node.attribute("pyname"), nullptr);
    EXPECT_NE(node.attribute("module"), nullptr);
    EXPECT_EQ(node.attribute("scalars"), nullptr);
    EXPECT_EQ(node.attribute("Subgraph"), nullptr);
  }
}

TEST(ExportTypes, BranchesAreWrittenAsTheyAre) {
  constexpr const char* text = R"(graph(%x : Float(2, 3), %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      %b : Tensor = aten::neg(%x)
      -> (%b)
  return (%y)
)";
  EXPECT_THAT(nodes_of(text, 13, ExportType::raw),
              ElementsAre("org.pytorch.prim::If", "org.pytorch.aten::relu", "org.pytorch.aten::neg"));
  EXPECT_THAT(nodes_of(text, 13, ExportType::onnx_aten),
              ElementsAre("If", "org.pytorch.aten::ATen relu ", "org.pytorch.aten::ATen neg "));
}

// What the check promises is kept, and where it refuses without an input to give, another type doesn't convert less than `onnx`
// does.
void expect_agreement(const Model& model, int opset) {
  const Verdict plain = check(model, {.opset = opset}).verdict;
  for (const auto type : {ExportType::onnx_aten, ExportType::onnx_aten_fallback, ExportType::onnx_fallthrough, ExportType::raw}) {
    const Verdict verdict = check(model, {.opset = opset, .export_type = type}).verdict;
    if (plain == Verdict::yes && type != ExportType::onnx_aten && type != ExportType::raw) {
      EXPECT_EQ(verdict, Verdict::yes) << model.path() << " at " << opset;
    }
    if (verdict != Verdict::yes) continue;
    try {
      model_of(model, at(opset, type));
    } catch (const std::exception& error) {
      ADD_FAILURE() << model.path() << " at " << opset << ", type " << static_cast<int>(type) << ": " << error.what();
    }
  }
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder, const char* ending) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ending && entry.file_size() < (1 << 20)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(ExportTypes, GraphTextsConvertAsTheCheckSays) {
  int checked = 0;
  for (const auto& file : files_of(COMPATCHECK_SOURCE_DIR "/tests/cli/models", ".ir")) {
    std::optional<Model> model;
    try {
      model = Loader().load(file);
    } catch (const Error&) {  // broken on purpose
      continue;
    }
    for (const int opset : {8, 9, 13, 17}) expect_agreement(*model, opset);
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

TEST(ExportTypes, ModelsConvertAsTheCheckSays) {
  const char* folder = std::getenv("COMPATCHECK_MODELS");
  ASSERT_NE(folder, nullptr);
  Loader loader;
  int checked = 0;
  std::size_t number = 0;
  for (const auto& file : files_of(folder, ".pt")) {
    if (!is_of_today(++number, 8)) continue;
    const Model model = loader.load(file);
    for (const int opset : {9, 17}) expect_agreement(model, opset);
    ++checked;
  }
  EXPECT_GT(checked, 15);
}

}  // namespace
}  // namespace compatcheck
