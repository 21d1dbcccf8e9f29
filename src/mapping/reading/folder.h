// A whole folder of tables, read together.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "mapping/reading/read.h"

namespace compatcheck::mapping {

// Every list sorted by name.
struct Tables {
  std::vector<OperatorRows> operators;
  std::vector<OnnxChange> changes;
  std::vector<Listed> structural;
  std::vector<std::pair<std::string, std::string>> sources;  // file name → its text
};

// Reads operators/**/*.yaml, libraries/**/*.yaml, onnx_changes.yaml and structural.yaml of `folder`; a file that isn't
// there is empty. Places name files by `prefix` and their path in the folder. Defects are appended.
Tables read_folder(const std::filesystem::path& folder, const std::string& prefix, std::vector<Defect>& defects);

// Throws TableError.
std::string read_file(const std::filesystem::path& file);

// describe() of each, the line looked up in `sources`, one after another.
std::string describe(const std::vector<Defect>& defects, const Tables& tables);

}  // namespace compatcheck::mapping
