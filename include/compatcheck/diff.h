// Compares two models, or two saved JSON reports of check().
//
//   auto difference = compatcheck::diff("before.json", "after.json");
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

struct DiffOptions {
  LoadOptions load{};          // how to load TorchScript models
  std::optional<int> opset{};  // opset to check models at; absent: the opsets of the other side's report, or the default
};

// A property with one value for each model: "opset", "verdict", "input x", "output y".
struct PropertyChange {
  std::string name;
  std::optional<std::string> before, after;  // absent: the property isn't there
};

struct OperatorChange {
  std::string op;                       // "Conv", "aten::add.Tensor"
  std::uint64_t before = 0, after = 0;  // nodes
};

// Findings of one rule about one operator are counted together.
struct FindingChange {
  std::string id, severity, op, message;  // from `after`; from `before` if the finding is gone
  std::uint64_t before = 0, after = 0;    // nodes
  bool blocks = false;                    // a new error
};

// A node that only one of two ONNX models has, or that differs between them.
struct NodeChange {
  std::string scope, name, op;         // scope: see NodeContents::scope; name: the node's, or else its output's
  bool before = false, after = false;  // whether the node is there
  std::vector<PropertyChange> what;    // "operator", "inputs", "outputs", "attribute axis"
};

// A difference between two ONNX models' initializers, or two TorchScript models' parameters, buffers and constants.
struct WeightChange {
  std::string scope, name;
  std::optional<std::string> before{}, after{};  // dtype and shape; absent: the weight isn't there
  std::uint64_t elements = 0,
                changed = 0;  // if dtype and shape are the same: number of elements, and of those with other bytes
  std::string problem{};      // reason why the elements can't be compared; empty: none
};

// The differences of one model, or of one report in a file of several. Reports of one path and opset are paired, others in order.
struct ModelDifference {
  std::string before, after;  // path and opset; empty: the report is only on the other side
  std::vector<PropertyChange> properties;
  std::vector<OperatorChange> operators;
  std::vector<FindingChange> findings;
  std::vector<NodeChange> nodes;      // for two models only
  std::vector<WeightChange> weights;  // for two models only; read in pieces
  bool something_new = false;         // a blocking finding, or, between models, a new operator

  bool empty() const { return properties.empty() && operators.empty() && findings.empty() && nodes.empty() && weights.empty(); }
};

struct Difference {
  static constexpr const char* schema_version = "1.0";
  std::string before, after;  // the files
  std::vector<ModelDifference> models;
  int exit_code = 0;  // exit_findings where something is new, exit_unreadable where elements can't be compared
};

// Files: .onnx, TorchScript, or JSON reports (one, a list, or one on each line). Throws ModelError for a file that can't be
// read.
Difference diff(const std::filesystem::path& before, const std::filesystem::path& after, const DiffOptions& options = {});

}  // namespace compatcheck
