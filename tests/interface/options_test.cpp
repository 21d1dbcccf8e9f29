// Every struct of options initialises from any one member, and without a warning under -Wextra, which wants a default for each
// other.
#include <gtest/gtest.h>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/diff.h"
#include "compatcheck/extract.h"
#include "compatcheck/inspect.h"
#include "compatcheck/load.h"
#include "compatcheck/policy.h"
#include "compatcheck/reference.h"
#include "compatcheck/render.h"
#include "compatcheck/run.h"
#include "compatcheck/verify.h"

namespace compatcheck {
namespace {

TEST(Options, InitialiseByTheirFirstMember) {
  EXPECT_TRUE(RunOptions{.progress = [](const Progress&) {}}.progress);
  EXPECT_EQ(LoadOptions{.method = "encode"}.method, "encode");
  EXPECT_EQ(CheckOptions{.opset = 11}.opset, 11);
  EXPECT_EQ(ConvertOptions{.opset = 11}.opset, 11);
  EXPECT_EQ(VerifyOptions{.convert = {.opset = 11}}.convert.opset, 11);
  EXPECT_EQ(ExtractOptions{.from = {"x"}}.from.size(), 1);
  EXPECT_EQ(DiffOptions{.load = {.method = "encode"}}.load.method, "encode");
  EXPECT_EQ(InspectOptions{.operators = {"Conv"}}.operators.size(), 1);
  EXPECT_TRUE(RenderOptions{.color = true}.color);
  EXPECT_EQ(ReferenceOptions{.mappings = {"rows.yaml"}}.mappings.size(), 1);
  EXPECT_TRUE(PolicyOptions{.configuration = {}}.configuration.file.empty());
  EXPECT_EQ((PolicyOptions{.configuration = {.allow = {{.op = "aten::pinverse"}}}}.configuration.allow.size()), 1);
}

TEST(Options, InitialiseByTheirLastMember) {
  EXPECT_FALSE(RunOptions{.cancel = nullptr}.cancel);
  EXPECT_FALSE(LoadOptions{.run = {}}.run.progress);
  EXPECT_FALSE(CheckOptions{.run = {}}.run.progress);
  EXPECT_FALSE(ConvertOptions{.run = {}}.run.progress);
  EXPECT_EQ(VerifyOptions{.memory = 1}.memory, 1);
  EXPECT_FALSE(ExtractOptions{.run = {}}.run.progress);
  EXPECT_EQ(DiffOptions{.opset = 11}.opset, 11);
  EXPECT_TRUE(InspectOptions{.weights = true}.weights);
  EXPECT_EQ(RenderOptions{.source_root = "src"}.source_root, "src");
  EXPECT_EQ(ReferenceOptions{.scaffold = Scaffold::yaml}.scaffold, Scaffold::yaml);
  EXPECT_TRUE(PolicyOptions{.exit_zero = true}.exit_zero);
}

}  // namespace
}  // namespace compatcheck
