// compatcheck.yaml and allow-lists, over reports made by hand.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "compatcheck/check.h"
#include "policy/sample.h"

namespace compatcheck {
namespace {

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
  applied.finish({&given, 1});
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

TEST_F(PolicyTest, AnEnginesNodesArePartedWithTheirSites) {
  struct Case {
    const char* module;
    int allowed, left;
  };
  for (const Case& each : {Case{"head", 1, 5}, Case{"tail.*", 1, 5}, Case{"[ht]*", 2, 4}, Case{"*", 6, 0}, Case{"gone", 0, 6}}) {
    Policy applied = policy("allow:\n  - {op: 'aten::foo', module: '" + std::string(each.module) + "', reason: x}\n");
    Report given = report({engine_finding()});
    applied.apply(given);
    int allowed = 0, left = 0;
    for (const auto& part : given.findings) (part.suppressed ? allowed : left) += part.nodes;
    EXPECT_EQ(allowed, each.allowed) << each.module;
    EXPECT_EQ(left, each.left) << each.module;
  }
}

TEST_F(PolicyTest, AFindingWithoutSitesIsTheModels) {
  for (const auto& [module, allowed] : {std::pair{"*", true}, std::pair{"head", false}}) {
    Policy applied = policy("allow:\n  - {rule: CC102, module: '" + std::string(module) + "', reason: x}\n");
    Finding all = finding("CC102", Severity::warning, "", {});
    all.nodes = 7;
    Report given = report({all});
    applied.apply(given);
    ASSERT_EQ(given.findings.size(), 1u) << module;
    EXPECT_EQ(given.findings[0].nodes, 7) << module;
    EXPECT_EQ(given.findings[0].suppressed.has_value(), allowed) << module;
  }
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

// An operator without a mapping may be found as a write that can't be expressed.
TEST_F(PolicyTest, MaxMissingGoesByOperatorsNotByRules) {
  for (const bool all : {false, true}) {
    Policy applied = policy("allow:\n  - {rule: " + std::string(all ? "'*'" : "CC001") + ", reason: x}\n");
    Report given = two_missing();
    given.findings[1].id = "CC007";
    given.findings.push_back(finding("CC006", Severity::error, "aten::asked", {"head"}));  // of no missing operator
    given.gate.fail_on = FailOn::never;
    given.gate.max_missing = 0;
    applied.apply(given);
    EXPECT_EQ(given.gate.passed, all);
  }
}

TEST_F(PolicyTest, EntriesOfOtherModelsOpsetsAndEnginesDoNotHoldAndAreNotJudged) {
  for (const char* other : {"model: 'other*.pt'", "opset: 11", "target: tensorrt"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::foo', " + std::string(other) + ", reason: x}\n");
    Report given = two_missing();
    applied.apply(given);
    applied.finish({&given, 1});
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

TEST_F(PolicyTest, APatternWithoutASlashIsOfTheFileAlone) {
  for (const char* model : {"m*", "models*", "*s*t.pt"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::*', model: '" + std::string(model) + "', reason: x}\n");
    Report given = two_missing();
    applied.apply(given);
    EXPECT_FALSE(given.gate.passed) << model;
  }
}

TEST_F(PolicyTest, AnEngineIsNamedWithItsVersionOrWithout) {
  for (const char* target : {"tensorrt", "tensorrt@10", "tensorrt@10.15"}) {
    Policy applied = policy("allow:\n  - {op: 'aten::foo', target: " + std::string(target) + ", reason: x}\n");
    Finding engine = finding("CC101", Severity::warning, "aten::foo", {"head"});
    engine.target = "tensorrt@10.15";
    Report given = report({engine, finding("CC101", Severity::warning, "aten::foo", {"head"})});
    given.targets.emplace_back().target = "tensorrt@10.15";
    applied.apply(given);
    EXPECT_EQ(std::count_if(given.findings.begin(), given.findings.end(),
                            [](const Finding& each) { return each.suppressed.has_value(); }),
              1)
        << target;
  }
}

TEST_F(PolicyTest, AnUnusedEntryIsAFindingOfTheLastReport) {
  Policy applied = policy("allow:\n  - {op: 'aten::gone', reason: x}\n");
  Report given = two_missing();
  applied.apply(given);
  EXPECT_EQ(given.findings.size(), 2u);
  applied.finish({&given, 1});
  ASSERT_EQ(given.findings.size(), 3u);
  EXPECT_EQ(given.findings[2].id, "CC901");
  EXPECT_EQ(given.findings[2].severity, Severity::warning);
  EXPECT_NE(given.findings[2].message.find("compatcheck.yaml:2: no finding matches the entry for aten::gone"), std::string::npos);
}

// Any opset of a range may be the one that decides.
TEST_F(PolicyTest, AnUnusedEntryIsAFindingOfEachOpsetWhereOneIsEnough) {
  for (const bool enough : {false, true}) {
    Policy applied = policy("rules: {CC901: error}\nallow:\n  - {op: 'aten::gone', reason: x}\n");
    std::vector<Report> reports{report({}), report({})};
    reports[0].opset = 16;
    for (auto& each : reports) {
      each.verdict = Verdict::yes;
      each.gate.one_opset_is_enough = enough;
      applied.apply(each);
    }
    applied.finish(reports);
    EXPECT_EQ(reports[0].findings.size(), enough ? 1u : 0u);
    EXPECT_EQ(reports[1].findings.size(), 1u);
    EXPECT_EQ(exit_code_of(reports), exit_findings);
  }
}

TEST_F(PolicyTest, AnEntryBehindOneThatTookAllIsUnused) {
  Policy applied = policy(
      "allow:\n  - {rule: CC001, reason: x}\n  - {op: 'aten::foo', reason: y}\n  - {op: 'aten::foo', module: gone, reason: z}\n");
  Report given = two_missing();
  applied.apply(given);
  applied.finish({&given, 1});
  ASSERT_EQ(given.findings.size(), 4u);
  EXPECT_THAT(given.findings[2].message,
              testing::EndsWith("compatcheck.yaml:3: an earlier entry matches every finding of aten::foo"));
  EXPECT_THAT(given.findings[3].message,
              testing::EndsWith("compatcheck.yaml:4: no finding matches the entry for aten::foo in gone"));
}

TEST_F(PolicyTest, RulesSayWhatAnExpiredEntryIs) {
  for (const auto& [rule, passes, findings] :
       {std::tuple{"error", false, 2u}, std::tuple{"note", true, 2u}, std::tuple{"off", true, 1u}}) {
    Policy applied =
        policy("rules: {CC902: " + std::string(rule) + "}\nallow:\n  - {rule: CC004, reason: x, expires: 2026-01-01}\n");
    Report given = report({finding("CC004", Severity::note, "aten::foo", {"head"})});
    given.verdict = Verdict::yes;
    applied.apply(given);
    EXPECT_EQ(given.gate.passed, passes) << rule;
    EXPECT_EQ(given.findings.size(), findings) << rule;
  }
}

TEST_F(PolicyTest, AnEntryHoldsOnItsLastDayAndIsAFindingAfterIt) {
  for (const auto& [today, holds] : {std::pair{"2026-12-31", true}, std::pair{"2027-01-01", false}}) {
    Policy applied = policy("allow:\n  - {op: 'aten::*', reason: x, expires: 2026-12-31}\n", {.today = today});
    Report given = two_missing();
    applied.apply(given);
    applied.finish({&given, 1});
    EXPECT_EQ(given.gate.passed, holds);
    EXPECT_EQ(given.findings.size(), holds ? 2u : 3u);
    EXPECT_EQ(given.findings.back().id == "CC902", !holds);
  }
}

TEST_F(PolicyTest, RulesRaiseLowerAndSwitchOffWhatIsNoError) {
  Policy applied = policy("rules: {CC004: off, CC008: note, 'CC1*': error}\n");
  Report given =
      report({finding("CC004", Severity::note, "aten::a", {""}), finding("CC008", Severity::warning, "aten::b", {""}),
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
  EXPECT_NE(error_of("fail-on: missing\n")
                .find("compatcheck.yaml:1:1: unknown key `fail-on` in the configuration; did you mean `fail_on`?"),
            std::string::npos);
  EXPECT_NE(error_of("version: 2\n").find("version 1"), std::string::npos);
  EXPECT_NE(error_of("rules: {CC044: off}\n").find("there is no rule CC044; did you mean"), std::string::npos);
  EXPECT_NE(error_of("rules: {'CC7*': off}\n").find("compatcheck.yaml:1:9: there is no rule CC7*; did you mean `CC0*`?"),
            std::string::npos);
  EXPECT_NE(error_of("rules: {'CC00[4': off}\n").find("a `[` without its `]`"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {rule: 'XX*', reason: x}\n").find("compatcheck.yaml:2:12: there is no rule XX*"),
            std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: 'aten::linalg_pin[v', reason: x}\n").find("compatcheck.yaml:2:10: a `[` without its `]`"),
            std::string::npos);
  EXPECT_NE(error_of("rules: {CC004: of}\n").find("did you mean `off`?"), std::string::npos);
  EXPECT_NE(error_of("rules: {CC001: off}\n").find("CC001 means that a model doesn't convert"), std::string::npos);
  EXPECT_NE(error_of("rules: {'CC*': note}\n").find("stays an error"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: 'aten::foo'}\n").find("`reason` is missing"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: 'aten::foo', reason: ''}\n").find("`reason` must not be empty"), std::string::npos);
  for (const char* blank : {"' '", "\"\\t\"", "\"\\u00a0\\u200b\"", "\"\\u3000\""}) {
    EXPECT_NE(error_of("allow:\n  - {op: x, reason: " + std::string(blank) + "}\n").find("`reason` must not be empty"),
              std::string::npos)
        << blank;
    EXPECT_NE(error_of("allow:\n  - {op: x, reason: y, owner: " + std::string(blank) + "}\n").find("`owner` must not be empty"),
              std::string::npos)
        << blank;
  }
  EXPECT_EQ(error_of("allow:\n  - {op: '[]x]*[![:alpha:]]', reason: später, owner: 田}\n"), "");
  EXPECT_NE(error_of("allow:\n  - {reason: x}\n").find("names an operator or a rule"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, expires: 2027-02-30}\n").find("2027-02-30 is no day"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, opset: 6}\n").find("6 is no opset from 7 to 26"), std::string::npos);
  EXPECT_NE(error_of("allow:\n  - {op: x, reason: x, scope: y}\n").find("unknown key `scope` in an allow entry"),
            std::string::npos);
  EXPECT_NE(error_of("- a\n").find("a configuration is a map"), std::string::npos);
  EXPECT_THROW(read_configuration(folder_ / "absent.yaml"), UsageError);
}

TEST_F(PolicyTest, SettingsAreTheOptionsTheyStandFor) {
  const auto file = write("version: 1\nopset: [11, 17]\ntargets: [tensorrt, npu.yaml, ./npu]\nmappings: rows.yaml\n");
  const Configuration read = read_configuration(file);
  ASSERT_EQ(read.settings.size(), 3u);
  EXPECT_EQ(read.settings[0].option, "--opset");
  EXPECT_EQ(read.settings[0].values, std::vector<std::string>{"11,17"});
  EXPECT_EQ(read.settings[0].source, file.string() + ":2");
  EXPECT_EQ(read.settings[1].values,
            (std::vector<std::string>{"tensorrt", (folder_ / "npu.yaml").string(), (folder_ / "npu").string()}));
  EXPECT_EQ(read.settings[2].values, std::vector<std::string>{(folder_ / "rows.yaml").string()});
}

std::string error_of_allowed(const Configuration& configuration, const std::vector<std::string>& targets = {}) {
  return refusal([&] { check_allowed_targets(configuration, targets); });
}

TEST_F(PolicyTest, AnEntrysEngineIsShippedOrOfAProfileThatIsNamed) {
  const auto profile =
      write("engine: npu\nversion: '2.1'\ntitle: NPU\nsource: its manual\ndate: 2026-01-01\noperators: {}\n", "npu.yaml");
  const auto reading = [&](const std::string& target) {
    return read_configuration(write("allow:\n  - {op: x, target: " + target + ", reason: y}\n"));
  };
  EXPECT_EQ(error_of_allowed(reading("tensorrt")), "");
  EXPECT_NE(error_of_allowed(reading("tensort"))
                .find("compatcheck.yaml:2: CheckOptions::targets tensort: no such engine; did you mean `tensorrt`?"),
            std::string::npos);
  EXPECT_NE(error_of_allowed(reading("npu")).find("no such engine; known are"), std::string::npos);
  EXPECT_EQ(error_of_allowed(reading("npu"), {"tensorrt", profile.string()}), "");
  EXPECT_EQ(error_of_allowed(reading("npu@2"), {profile.string()}), "");
  const Configuration by_file = reading("npu.yaml");
  EXPECT_EQ(by_file.allow.at(0).target, "npu@2.1");
  EXPECT_EQ(error_of_allowed(by_file), "");
  EXPECT_NE(error_of("allow:\n  - {op: x, target: gone.yaml, reason: y}\n").find("compatcheck.yaml:2:21: "), std::string::npos);
}

TEST_F(PolicyTest, WhatIsNoFileIsNotPassedOver) {
  const auto file = folder_ / "compatcheck.yaml";
  const auto found = [&] { return refusal([&] { find_configuration(folder_); }); };
  const auto read = [&] { return refusal([&] { read_configuration(file); }); };
  EXPECT_NE(read().find("there is no such file"), std::string::npos);
  std::filesystem::create_symlink("nowhere.yaml", file);
  EXPECT_NE(found().find(file.string() + " is a link to nowhere.yaml"), std::string::npos) << found();
  EXPECT_NE(read().find(file.string() + " is a link to nowhere.yaml"), std::string::npos);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_NE(found().find(file.string() + " is a folder"), std::string::npos);
  EXPECT_NE(read().find(file.string() + " is a folder"), std::string::npos);
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_NE(found().find(file.string() + " is no regular file"), std::string::npos);
}

TEST_F(PolicyTest, APipeIsReadAndADeviceHasAnEnd) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "opset: 9\nmappings: rows.yaml\n"; });
  const Configuration read = read_configuration(pipe);
  writer.join();
  ASSERT_EQ(read.settings.size(), 2u);
  EXPECT_EQ(read.settings[1].values.at(0), "rows.yaml");
  EXPECT_NE(refusal([] { read_configuration("/dev/zero"); }).find("/dev/zero is too big"), std::string::npos);
}

TEST_F(PolicyTest, TheNearestConfigurationIsFound) {
  const auto outer = write("");
  std::filesystem::create_directories(folder_ / "a" / "b");
  EXPECT_EQ(find_configuration(folder_ / "a" / "b"), outer);
  std::ofstream(folder_ / "a" / ".compatcheck.yaml") << "";
  EXPECT_EQ(find_configuration(folder_ / "a" / "b"), folder_ / "a" / ".compatcheck.yaml");
}

}  // namespace
}  // namespace compatcheck
