// Baselines, over reports made by hand.
#include <limits>

#include "policy/sample.h"

namespace compatcheck {
namespace {

using BaselineTest = PolicyTest;

Baseline baseline_of(Report given) {
  Policy writing({.baseline_source = "baseline.json", .accept_all = true, .today = "2026-06-15"});
  writing.apply(given);
  EXPECT_TRUE(given.gate.passed);
  return writing.baseline_of_run();
}

TEST_F(BaselineTest, WhatTheBaselineKnowsDoesNotCount) {
  const Baseline baseline = baseline_of(two_missing());
  ASSERT_EQ(baseline.entries().size(), 4u);
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  Report same = two_missing();
  applied.apply(same);
  EXPECT_TRUE(same.gate.passed);
  EXPECT_EQ(same.findings[0].baseline, BaselineState::unchanged);
  EXPECT_EQ(same.findings[0].suppressed->source, "baseline.json");
}

TEST_F(BaselineTest, MoreThanTheBaselineCountsWhole) {
  Policy applied({.baseline = baseline_of(two_missing()), .baseline_source = "baseline.json"});
  Report more = report({finding("CC001", Severity::error, "aten::foo", {"head", "head", "tail.0", "tail.1"}),
                        finding("CC001", Severity::error, "aten::new", {"head"})});
  applied.apply(more);
  EXPECT_EQ(more.findings[0].baseline, BaselineState::grown);
  EXPECT_EQ(more.findings[1].baseline, BaselineState::added);
  EXPECT_EQ(more.gate.violations, 2);
}

TEST_F(BaselineTest, LessThanTheBaselineIsANoteAndPruningTakesItOut) {
  const Baseline baseline = baseline_of(two_missing());
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  Report less = report({finding("CC001", Severity::error, "aten::foo", {"head"})});
  applied.apply(less);
  applied.finish({&less, 1});
  EXPECT_TRUE(less.gate.passed);
  EXPECT_EQ(less.findings.back().id, "CC904");
  const Baseline pruned = applied.baseline_of_run();
  ASSERT_EQ(pruned.entries().size(), 1u);
  EXPECT_EQ(pruned.entries()[0].op, "aten::foo");
  EXPECT_EQ(pruned.entries()[0].module, "head");
}

// With --fail-on composite. Once they are in, they are known to runs with another gate, too.
TEST_F(BaselineTest, NotesThatFailTheGateAreInIt) {
  const auto made = [](FailOn fail_on) {
    Report given = report(
        {finding("CC004", Severity::note, "aten::foo", {"head"}), finding("CC012", Severity::note, "aten::size", {"head"})});
    given.verdict = Verdict::yes;
    given.gate.fail_on = fail_on;
    return given;
  };
  Policy writes({.accept_all = true});
  Report first = made(FailOn::composite);
  writes.apply(first);
  EXPECT_TRUE(first.gate.passed);
  const Baseline baseline = writes.baseline_of_run();
  ASSERT_EQ(baseline.entries().size(), 1u);
  for (const FailOn fail_on : {FailOn::composite, FailOn::unconvertible}) {
    Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
    Report again = made(fail_on);
    applied.apply(again);
    applied.finish({&again, 1});
    EXPECT_TRUE(again.gate.passed);
    EXPECT_EQ(again.findings.size(), 2u) << "no line is too high";
    EXPECT_EQ(applied.baseline_of_run().entries().size(), 1u);
  }
}

TEST_F(BaselineTest, PruningLeavesOtherModelsAlone) {
  Report other = two_missing();
  other.model.path = "models/other.pt";
  Policy applied({.baseline = baseline_of(std::move(other)), .baseline_source = "baseline.json"});
  Report given = report({});
  applied.apply(given);
  EXPECT_EQ(applied.baseline_of_run().entries().size(), 4u);
}

TEST_F(BaselineTest, AModelMetTwiceIsOneModel) {
  const Baseline baseline = baseline_of(two_missing());
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  for (const char* path : {"models/net.pt", "./models/net.pt"}) {
    Report same = two_missing();
    same.model.path = path;
    applied.apply(same);
    EXPECT_TRUE(same.gate.passed) << path;
  }
  EXPECT_EQ(to_json(applied.baseline_of_run()), to_json(baseline));
  Report twice = report(
      {finding("CC001", Severity::error, "aten::foo", {"head"}), finding("CC001", Severity::error, "aten::foo", {"head"})});
  EXPECT_EQ(baseline_of(std::move(twice)).entries()[0].nodes, 2);
}

TEST_F(BaselineTest, WritingKeepsWhatTheRunHasNotJudged) {
  Report other = two_missing(), unread;
  other.model.path = unread.model.path = "models/other.pt";
  unread.error = "models/other.pt: there is no such file";
  const Baseline before = baseline_of(std::move(other));
  Policy writing({.baseline_source = "baseline.json", .accept_all = true, .replaced = before, .today = "2026-06-15"});
  Report given = report({finding("CC001", Severity::error, "aten::foo", {"head"})});
  writing.apply(given);
  writing.apply(unread);
  EXPECT_EQ(writing.baseline_of_run().entries().size(), 5u);
  Policy again(
      {.baseline_source = "baseline.json", .accept_all = true, .replaced = writing.baseline_of_run(), .today = "2026-06-15"});
  Report mended = report({});
  again.apply(mended);
  EXPECT_EQ(to_json(again.baseline_of_run()), to_json(before));
}

TEST_F(BaselineTest, ABaselineCountsAnEnginesNodes) {
  Report first = report({engine_finding()});
  first.verdict = Verdict::yes;
  const Baseline baseline = baseline_of(std::move(first));
  int nodes = 0;
  for (const auto& entry : baseline.entries()) nodes += entry.nodes;
  EXPECT_EQ(nodes, 6);
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  Finding more = engine_finding();
  ++more.nodes;
  Report given = report({more});
  applied.apply(given);
  EXPECT_EQ(given.findings[0].baseline, BaselineState::grown);
}

TEST_F(BaselineTest, NumbersBeyondAllBoundsStayThere) {
  constexpr int most = std::numeric_limits<int>::max();
  const Baseline::Entry entry{"net.pt", 17, "", "CC001", "aten::foo", "head", most};
  Policy applied({.baseline = Baseline({entry, entry})});
  EXPECT_EQ(applied.baseline_of_run().entries()[0].nodes, most);
  Finding all = finding("CC001", Severity::error, "aten::foo", {});
  all.nodes = most;
  const Report given = report({all, all});
  EXPECT_EQ(baseline_of(given).entries()[0].nodes, most);
}

TEST_F(BaselineTest, DamagedBaselinesNameThePlace) {
  const auto error = [&](const std::string& text) { return refusal([&] { read_baseline(write(text, "b.json")); }); };
  const auto entry = [&](const std::string& rest) {
    return error(
        R"({"kind": "compatcheck baseline", "version": 1, "entries": [{"model": "a", "rule": "CC001", "op": "x", "module": "", )" +
        rest + "}]}");
  };
  EXPECT_EQ(entry(R"("opset": 17, "nodes": 1)"), "");
  const std::string file = (folder_ / "b.json").string();
  EXPECT_EQ(error("{}"), file + ": no baseline of compatcheck: expected a key \"kind\" with \"compatcheck baseline\"");
  EXPECT_EQ(error("[1]"), error("{}"));
  EXPECT_EQ(error("{\n<<<<<<< HEAD\n"), file + ": line 2, column 1: no JSON, so no baseline of compatcheck");
  EXPECT_EQ(error(R"({"kind": "compatcheck baseline", "version": 2})"),
            file + ": version: expected 1, the version of baselines that this version of compatcheck reads");
  EXPECT_EQ(entry(R"("opset": 17, "nodes": 1e999)"), file + ": holds a number that is beyond all bounds");
  EXPECT_EQ(entry(R"("opset": 17)"), file + ": entries[0]: expected a key \"nodes\"");
  for (const char* wrong : {"1.5", "true", "-1", "\"1\"", "null", "99999999999", "1e2"})
    EXPECT_EQ(entry(R"("opset": 17, "nodes": )" + std::string(wrong)),
              file + ": entries[0].nodes: expected a whole number from 0 to 2147483647")
        << wrong;
  EXPECT_EQ(entry(R"("opset": 17, "nodes": 0)"), file + ": entries[0].nodes: expected at least one node");
  EXPECT_EQ(entry(R"("opset": true, "nodes": 1)"), file + ": entries[0].opset: expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal([&] { read_baseline(folder_); }), folder_.string() + " is a folder, not a file");
}

TEST_F(BaselineTest, ABaselineIsTheSameAfterItsFile) {
  const Baseline baseline = baseline_of(two_missing());
  const auto file = write(to_json(baseline), "baseline.json");
  EXPECT_EQ(to_json(read_baseline(file)), to_json(baseline));
  EXPECT_THROW(read_baseline(write("{}", "b.json")), UsageError);
  EXPECT_THROW(read_baseline(write("not json", "b.json")), UsageError);
  EXPECT_THROW(read_baseline(folder_ / "absent.json"), UsageError);
}

}  // namespace
}  // namespace compatcheck
