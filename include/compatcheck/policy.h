// Which findings of a report count: compatcheck.yaml with its rules and allow-list, and baselines.
//
//   compatcheck::Policy policy({.configuration = compatcheck::read_configuration("compatcheck.yaml")});
//   for (auto& report : reports) policy.apply(report);
//   policy.finish(reports);
//
// A policy never changes a verdict: it decides whether the gate lets the model pass.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "compatcheck/report.h"

namespace compatcheck {

// A value that an option of the command line can give, too.
struct Setting {
  std::string option{};               // "--fail-on"
  std::vector<std::string> values{};  // relative paths, also of profiles ("npu.yaml"), begin at the file's folder
  std::string source{};               // "compatcheck.yaml:3"
};

// A rule's severity; none: findings of the rule are left out.
struct RuleSetting {
  std::string rule{};  // "CC004"
  std::optional<Severity> severity{};
  std::string source{};
};

// A finding that shall not count. Empty fields hold for all; op, rule, model and module may have *, ? and [abc] in them.
struct AllowEntry {
  std::string op{}, rule{}, model{}, target{}, module{};
  std::filesystem::path profile{};  // set if the entry names a profile's file; `target` is its engine then
  std::optional<int> opset{};
  std::string reason{}, owner{};
  std::optional<std::string> expires{};  // "2027-01-31": the last day on which it holds
  std::string source{};                  // "compatcheck.yaml:12"
};

struct Configuration {
  std::filesystem::path file{};  // empty: none
  std::vector<Setting> settings{};
  std::vector<RuleSetting> rules{};
  std::vector<AllowEntry> allow{};
};

// Throws UsageError where there is no such file or it can't be read, TableError, with line and column, for a wrong one. A pipe is
// read, too; its relative paths begin at the working folder.
Configuration read_configuration(const std::filesystem::path& file);
// compatcheck.yaml or .compatcheck.yaml in `folder` or the nearest folder above it that has one. Throws UsageError where that is
// no file: a folder, a pipe, a link to nowhere.
std::optional<std::filesystem::path> find_configuration(const std::filesystem::path& folder);
// Throws UsageError for an allow entry of an engine that is neither shipped nor that of a profile among `targets` (as
// CheckOptions has them).
void check_allowed_targets(const Configuration& configuration, const std::vector<std::string>& targets);

// The number of nodes of a model that each rule reported, by operator and module: known findings, which don't fail the gate.
// It contains no node numbers and lines, so that it outlives edits. If entries name the same nodes, the largest number counts.
class Baseline {
 public:
  struct Entry {
    // The path as given, without "./" and the like: models/a.pt equals ./models/a.pt, but not /home/me/models/a.pt.
    std::string model{};
    int opset = 0;
    std::string target{}, rule{}, op{}, module{};
    int nodes = 0;
    bool operator==(const Entry&) const = default;
  };
  Baseline() = default;
  explicit Baseline(std::vector<Entry> entries);
  std::span<const Entry> entries() const { return entries_; }  // sorted

 private:
  std::vector<Entry> entries_;
};

// Throws UsageError for a file that can't be read or is no baseline, with the place of the error.
Baseline read_baseline(const std::filesystem::path& file);
std::string to_json(const Baseline& baseline);  // the same baseline gives the same bytes

struct PolicyOptions {
  Configuration configuration{};
  std::optional<Baseline> baseline{};
  std::string baseline_source{};  // name of the baseline in reports: "baseline.json"
  bool accept_all = false;        // add findings that the baseline lacks to it, and let them pass the gate
  Baseline replaced{};            // the entries of the file that the new baseline replaces
  std::string today{};            // "2026-11-22", the date that entries expire by; empty: today in UTC (or SOURCE_DATE_EPOCH)
  bool partial = false;  // the run checks only some models: entries that don't name one model are never reported as unused
  bool exit_zero = false;
};

// For one run over any number of models. Not for use from several threads at once.
class Policy {
 public:
  explicit Policy(PolicyOptions options);
  ~Policy();
  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;

  // Severities, suppressions, and the gate and exit code that follow from them.
  void apply(Report& report);
  // Adds the findings about the whole run to the last of these reports: unused allow entries, and numbers of the baseline that
  // are too high. If one opset is enough for the last model, all reports of this model get them, because any may decide. Entries
  // for models, opsets or engines that the run doesn't have are skipped.
  void finish(std::span<Report> reports);
  // With `accept_all`: the findings of the run. Otherwise the old baseline, with numbers lowered to those of the run. Entries
  // for models, opsets and engines that the run didn't check stay in both cases.
  Baseline baseline_of_run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace compatcheck
