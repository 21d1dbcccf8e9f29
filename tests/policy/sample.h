// Configurations in a folder of their own, and reports made by hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "compatcheck/policy.h"

namespace compatcheck {

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

inline Finding finding(const std::string& id, Severity severity, const std::string& op, const std::vector<std::string>& modules) {
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

inline Report report(std::vector<Finding> findings) {
  Report made;
  made.model.path = "models/net.pt";
  made.opset = 17;
  made.verdict = Verdict::no;
  for (const auto& each : findings) {
    if (each.id != "CC001") continue;
    ++made.summary.missing;
    made.operators.emplace_back().op = each.op;  // missing, until it is said to be another class
  }
  made.findings = std::move(findings);
  return made;
}

inline Report two_missing() {
  return report({finding("CC001", Severity::error, "aten::foo", {"head", "tail.0", "tail.1"}),
                 finding("CC001", Severity::error, "aten::bar", {"head"})});
}

// Two calls, and four nodes that stand for none.
inline Finding engine_finding() {
  Finding made = finding("CC101", Severity::warning, "aten::foo", {"head", "tail.0"});
  made.target = "tensorrt@10.15";
  made.nodes = 6;
  return made;
}

inline std::string refusal(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace compatcheck
