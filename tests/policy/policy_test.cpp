// compatcheck.yaml, allow-lists and baselines, over reports made by hand.
#include "compatcheck/policy.h"

#include <fstream>

#include <gtest/gtest.h>

namespace compatcheck {
namespace {

class PolicyTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& text, const std::string& name = "compatcheck.yaml") {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string error_of(const std::string& text) {
    try {
      read_configuration(write(text));
      return {};
    } catch (const TableError& error) {
      return error.what();
    }
  }
  Policy policy(const std::string& text, PolicyOptions options = {}) {
    options.configuration = read_configuration(write(text));
    if (options.today.empty()) options.today = "2026-06-15";
    return Policy(std::move(options));
  }

  std::filesystem::path folder_;
};

Finding finding(const std::string& id, Severity severity, const std::string& op, const std::vector<std::string>& modules) {
  Finding made;
  made.id = id;
  made.severity = severity;
  made.op = op;
  made.nodes = static_cast<int>(modules.size());
  for (const auto& module : modules) {
    Site site;
    site.module = module;
    made.sites.push_back(site);
  }
  return made;
}

Report report(std::vector<Finding> findings) {
  Report made;
  made.model.path = "models/net.pt";
  made.opset = 17;
  made.verdict = Verdict::no;
  for (const auto& each : findings) made.summary.missing += each.id == "CC001";
  made.findings = std::move(findings);
  return made;
}

Report two_missing() {
  return report({finding("CC001", Severity::error, "aten::foo", {"head", "tail.0", "tail.1"}), finding("CC001", Severity::error, "aten::bar", {"head"})});
}

constexpr const char* allow_foo = "allow:\n  - {op: 'aten::foo', reason: our runtime has it, owner: team-vision}\n";

TEST_F(PolicyTest, WithoutAConfigurationNothingChanges) {
  Report given = two_missing();
  Policy({}).apply(given);
  EXPECT_EQ(given.findings.size(), 2u);
  EXPECT_FALSE(given.gate.passed);
  EXPECT_EQ(given.gate.violations, 2);
  EXPECT_EQ(given.exit_code, exit_findings);
}

TEST_F(PolicyTest, AnAllowedFindingStaysAndDoesNotCount) {
  Policy applied = policy(allow_foo);
  Report given = two_missing();
  applied.apply(given);
  ASSERT_EQ(given.findings.size(), 2u);
  ASSERT_TRUE(given.findings[0].suppressed);
  EXPECT_EQ(given.findings[0].suppressed->reason, "our runtime has it (team-vision)");
  EXPECT_EQ(given.findings[0].suppressed->source, (folder_ / "compatcheck.yaml").string() + ":2");
  EXPECT_EQ(given.gate.violations, 1);
  EXPECT_FALSE(given.gate.passed);
}

TEST_F(PolicyTest, AllFindingsAllowedLetAModelPassThatDoesNotConvert) {
  Policy applied = policy("allow:\n  - {rule: CC001, op: 'aten::*', reason: later}\n");
  Report given = two_missing();
  applied.apply(given);
  applied.finish(given);
  EXPECT_TRUE(given.gate.passed);
  EXPECT_EQ(given.exit_code, exit_passed);
  EXPECT_FALSE(given.convertible());
  EXPECT_EQ(given.findings.size(), 2u);
}

TEST_F(PolicyTest, AnEntryWithAModuleTakesItsSitesAlone) {
  Policy applied = policy("allow:\n  - {op: 'aten::foo', module: 'tail.*', reason: replaced at deployment}\n");
  Report given = two_missing();
  applied.apply(given);
  ASSERT_EQ(given.findings.size(), 3u);
  EXPECT_EQ(given.findings[0].nodes, 2);
  EXPECT_TRUE(given.findings[0].suppressed);
  EXPECT_EQ(given.findings[1].nodes, 1);
  EXPECT_FALSE(given.findings[1].suppressed);
  EXPECT_EQ(given.findings[1].sites.front().module, "head");
  EXPECT_EQ(given.gate.violations, 2);
}

TEST_F(PolicyTest, MaxMissingCountsWhatIsNotAllowed) {
  for (const bool allowed : {false, true}) {
    Policy applied = policy(allowed ? allow_foo : "");
    Report given = two_missing();
    given.gate.fail_on = FailOn::never;
    given.gate.max_missing = 1;
    applied.apply(given);
    EXPECT_EQ(given.gate.passed, allowed);
  }
}

TEST_F(PolicyTest, EntriesOfOtherModelsOpsetsAndEnginesDoNotHoldAndAreNotJudged) {
  for (const char* other : {"model: 'other*.pt'", "opset: 11", "target: tensorrt"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::foo', " + std::string(other) + ", reason: x}\n");
    Report given = two_missing();
    applied.apply(given);
    applied.finish(given);
    EXPECT_EQ(given.findings.size(), 2u) << other;
    EXPECT_EQ(given.gate.violations, 2) << other;
  }
}

TEST_F(PolicyTest, AModelIsNamedByItsPathOrItsFile) {
  for (const char* model : {"net.pt", "*.pt", "models/net.pt", "models/*", "./models/net.pt"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::*', model: '" + std::string(model) + "', reason: x}\n");
    Report given = two_missing();
    given.model.path = std::string(model).starts_with("./") ? model : "models/net.pt";
    applied.apply(given);
    EXPECT_TRUE(given.gate.passed) << model;
  }
}

TEST_F(PolicyTest, AnEngineIsNamedWithItsVersionOrWithout) {
  for (const char* target : {"tensorrt", "tensorrt@10.15"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::foo', target: " + std::string(target) + ", reason: x}\n");
    Finding engine = finding("CC101", Severity::warning, "aten::foo", {"head"});
    engine.target = "tensorrt@10.15";
    Report given = report({engine, finding("CC101", Severity::warning, "aten::foo", {"head"})});
    given.targets.emplace_back().target = "tensorrt@10.15";
    applied.apply(given);
    EXPECT_EQ(std::count_if(given.findings.begin(), given.findings.end(), [](const Finding& each) { return each.suppressed.has_value(); }), 1) << target;
  }
}

TEST_F(PolicyTest, AnUnusedEntryIsAFindingOfTheLastReport) {
  Policy applied = policy("allow:\n  - {op: 'aten::gone', reason: x}\n");
  Report given = two_missing();
  applied.apply(given);
  EXPECT_EQ(given.findings.size(), 2u);
  applied.finish(given);
  ASSERT_EQ(given.findings.size(), 3u);
  EXPECT_EQ(given.findings[2].id, "CC901");
  EXPECT_EQ(given.findings[2].severity, Severity::warning);
  EXPECT_NE(given.findings[2].message.find("compatcheck.yaml:2: no finding is of aten::gone"), std::string::npos);
}

TEST_F(PolicyTest, AnEntryHoldsOnItsLastDayAndIsAFindingAfterIt) {
  for (const auto& [today, holds] : {std::pair{"2026-12-31", true}, std::pair{"2027-01-01", false}}) {
    Policy applied = policy("allow:\n  - {op: 'aten::*', reason: x, expires: 2026-12-31}\n", {.today = today});
    Report given = two_missing();
    applied.apply(given);
    applied.finish(given);
    EXPECT_EQ(given.gate.passed, holds);
    EXPECT_EQ(given.findings.size(), holds ? 2u : 3u);
    EXPECT_EQ(given.findings.back().id == "CC902", !holds);
  }
}

TEST_F(PolicyTest, RulesRaiseLowerAndSwitchOffWhatIsNoError) {
  Policy applied = policy("rules: {CC004: off, CC008: note, 'CC1*': error}\n");
  Report given = report({finding("CC004", Severity::note, "aten::a", {""}), finding("CC008", Severity::warning, "aten::b", {""}),
                         finding("CC101", Severity::warning, "aten::c", {""}), finding("CC008", Severity::error, "aten::d", {""})});
  given.verdict = Verdict::yes;
  applied.apply(given);
  ASSERT_EQ(given.findings.size(), 3u);
  EXPECT_EQ(given.findings[0].severity, Severity::error);
  EXPECT_EQ(given.findings[1].severity, Severity::error);
  EXPECT_EQ(given.findings[2].severity, Severity::note);
  EXPECT_FALSE(given.gate.passed);
}

TEST_F(PolicyTest, WrongConfigurationsNameTheirPlace) {
  EXPECT_NE(error_of("fail-on: missing\n").find("compatcheck.yaml:1:1: unknown key `fail-on` in the configuration; did you mean `fail_on`?"), std::string::npos);
  EXPECT_NE(error_of("version: 2\n").find("version 1"), std::string::npos);
  EXPECT_NE(error_of("rules: {CC044: off}\n").find("there is no rule CC044; did you mean"), std::string::npos);
  EXPECT_NE(error_of("rules: {CC004: of}\n").find("did you mean `off`?"), std::string::npos);
  EXPECT_NE(error_of("rules: {CC001: off}\n").find("CC001 says that a model doesn't convert"), std::string::npos);
  EXPECT_NE(error_of("rules: {'CC*': note}\n").find("stays an error"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: 'aten::foo'}\n").find("`reason` is wanted"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: 'aten::foo', reason: ''}\n").find("`reason` must not be empty"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {reason: x}\n").find("names an operator or a rule"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, expires: 2027-02-30}\n").find("2027-02-30 is no day"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, opset: 6}\n").find("6 is no opset from 7 to 26"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, scope: y}\n").find("unknown key `scope` in an allow entry"), std::string::npos);
  EXPECT_NE(error_of("- a\n").find("a configuration is a map"), std::string::npos);
  EXPECT_THROW(read_configuration(folder_ / "absent.yaml"), UsageError);
}

TEST_F(PolicyTest, SettingsAreTheOptionsTheyStandFor) {
  const auto file = write("version: 1\nopset: [11, 17]\ntargets: [tensorrt, openvino]\nmappings: rows.yaml\n");
  const Configuration read = read_configuration(file);
  ASSERT_EQ(read.settings.size(), 3u);
  EXPECT_EQ(read.settings[0].option, "--opset");
  EXPECT_EQ(read.settings[0].values, std::vector<std::string>{"11,17"});
  EXPECT_EQ(read.settings[0].source, file.string() + ":2");
  EXPECT_EQ(read.settings[1].values, (std::vector<std::string>{"tensorrt", "openvino"}));
  EXPECT_EQ(read.settings[2].values, std::vector<std::string>{(folder_ / "rows.yaml").string()});
}

TEST_F(PolicyTest, TheNearestConfigurationIsFound) {
  const auto outer = write("");
  std::filesystem::create_directories(folder_ / "a" / "b");
  EXPECT_EQ(find_configuration(folder_ / "a" / "b"), outer);
  std::ofstream(folder_ / "a" / ".compatcheck.yaml") << "";
  EXPECT_EQ(find_configuration(folder_ / "a" / "b"), folder_ / "a" / ".compatcheck.yaml");
}

Baseline baseline_of(Report given) {
  Policy writing({.baseline_source = "baseline.json", .accept_all = true, .today = "2026-06-15"});
  writing.apply(given);
  EXPECT_TRUE(given.gate.passed);
  return writing.baseline_of_run();
}

TEST_F(PolicyTest, WhatTheBaselineKnowsDoesNotCount) {
  const Baseline baseline = baseline_of(two_missing());
  ASSERT_EQ(baseline.entries().size(), 4u);
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  Report same = two_missing();
  applied.apply(same);
  EXPECT_TRUE(same.gate.passed);
  EXPECT_EQ(same.findings[0].baseline, BaselineState::unchanged);
  EXPECT_EQ(same.findings[0].suppressed->source, "baseline.json");
}

TEST_F(PolicyTest, MoreThanTheBaselineCountsWhole) {
  Policy applied({.baseline = baseline_of(two_missing()), .baseline_source = "baseline.json"});
  Report more = report({finding("CC001", Severity::error, "aten::foo", {"head", "head", "tail.0", "tail.1"}), finding("CC001", Severity::error, "aten::new", {"head"})});
  applied.apply(more);
  EXPECT_EQ(more.findings[0].baseline, BaselineState::grown);
  EXPECT_EQ(more.findings[1].baseline, BaselineState::added);
  EXPECT_EQ(more.gate.violations, 2);
}

TEST_F(PolicyTest, LessThanTheBaselineIsANoteAndPruningTakesItOut) {
  const Baseline baseline = baseline_of(two_missing());
  Policy applied({.baseline = baseline, .baseline_source = "baseline.json"});
  Report less = report({finding("CC001", Severity::error, "aten::foo", {"head"})});
  applied.apply(less);
  applied.finish(less);
  EXPECT_TRUE(less.gate.passed);
  EXPECT_EQ(less.findings.back().id, "CC904");
  const Baseline pruned = applied.baseline_of_run();
  ASSERT_EQ(pruned.entries().size(), 1u);
  EXPECT_EQ(pruned.entries()[0].op, "aten::foo");
  EXPECT_EQ(pruned.entries()[0].module, "head");
}

TEST_F(PolicyTest, PruningLeavesOtherModelsAlone) {
  Report other = two_missing();
  other.model.path = "models/other.pt";
  Policy applied({.baseline = baseline_of(std::move(other)), .baseline_source = "baseline.json"});
  Report given = report({});
  applied.apply(given);
  EXPECT_EQ(applied.baseline_of_run().entries().size(), 4u);
}

TEST_F(PolicyTest, ABaselineIsTheSameAfterItsFile) {
  const Baseline baseline = baseline_of(two_missing());
  const auto file = write(to_json(baseline), "baseline.json");
  EXPECT_EQ(to_json(read_baseline(file)), to_json(baseline));
  EXPECT_THROW(read_baseline(write("{}", "b.json")), UsageError);
  EXPECT_THROW(read_baseline(write("not json", "b.json")), UsageError);
  EXPECT_THROW(read_baseline(folder_ / "absent.json"), UsageError);
}

}  // namespace
}  // namespace compatcheck
