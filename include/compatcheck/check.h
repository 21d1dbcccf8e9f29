// Classifying every operator of a model.
//
//   auto report = compatcheck::check(model, {.opset = 11});
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

inline constexpr int lowest_opset = 7;
inline constexpr int highest_opset = 26;
inline constexpr int default_opset = 17;

struct CheckOptions {
  int opset = default_opset;
  // "[NAME=][DTYPE:]DIM,DIM,…", in order or by name, as --input of the command line.
  std::vector<std::string> inputs{};
  FailOn fail_on = FailOn::unconvertible;
  std::optional<int> max_missing{};    // more missing operators than this fail the gate
  bool exit_zero = false;
  bool hash = false;                   // fill ModelInfo::sha256
  RunOptions run{};
};

// Throws UsageError for an opset out of range or an input that doesn't fit the model.
Report check(const Model& model, const CheckOptions& options = {});
// The same for several opsets; loading, normalising and facts are done once. One report an opset, in their order.
std::vector<Report> check(const Model& model, std::span<const int> opsets, const CheckOptions& options = {});

// exit_usage for what UsageError and TableError are, else exit_unreadable.
int exit_code_of(const std::exception& error);
// In place of a report, for render(): a model that could not be read or checked.
Report failure_report(const std::string& path, const std::exception& error);

}  // namespace compatcheck
