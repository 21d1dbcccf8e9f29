// Results of earlier runs: --resume reuses the reports of models that haven't changed.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::cli {

// A run's reports lie in a file of JSON lines when it is over; while it goes on, those that are there already lie beside it, in
// FILE.partial, in the order in which they came.
class EarlierRun {
 public:
  // Reads both files, where there are any, and goes on with the partial one. Throws UsageError.
  explicit EarlierRun(const std::filesystem::path& file);
  // One report for each opset, if the model's bytes and the settings are those of then, and the model could be checked.
  std::optional<std::vector<Report>> find(const std::string& model, const std::vector<int>& opsets,
                                          const std::string& settings) const;
  // Adds reports of this run.
  void add(std::span<const Report> reports);
  // The whole file is written: removes the partial one.
  void finish();

 private:
  void read(const std::filesystem::path& file);

  std::filesystem::path partial_;
  std::ofstream stream_;
  std::map<std::string, std::vector<std::string>> lines_;  // keyed by model, later ones last
};

}  // namespace compatcheck::cli
