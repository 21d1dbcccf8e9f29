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
  LoadOptions load{};          // of TorchScript models, which are checked
  std::optional<int> opset{};  // at which models are checked; absent: the opsets of the other side's report, or the default
};

// Something that the model has one of: "opset", "verdict", "input x", "output y".
struct PropertyChange {
  std::string name;
  std::optional<std::string> before, after;  // absent: it isn't there
};

struct OperatorChange {
  std::string op;                       // "Conv", "aten::add.Tensor"
  std::uint64_t before = 0, after = 0;  // nodes
};

// Findings of one rule about one operator count as one.
struct FindingChange {
  std::string id, severity, op, message;  // as after, or where it went, as before
  std::uint64_t before = 0, after = 0;    // nodes
  bool blocks = false;                    // an error that wasn't there
};

// A node that only one of two ONNX models has, or that differs between them.
struct NodeChange {
  std::string scope, name, op;         // scope: as NodeContents::scope; name: or else what it gives
  bool before = false, after = false;  // whether it is there
  std::vector<PropertyChange> what;    // "operator", "inputs", "outputs", "attribute axis"
};

// A difference between two ONNX models' initializers, or two TorchScript models' parameters, buffers and constants.
struct WeightChange {
  std::string scope, name;
  std::optional<std::string> before{}, after{};  // dtype and shape; absent: it isn't there
  std::uint64_t elements = 0,
                changed = 0;  // where dtype and shape are the same: how many, and how many of these have other bytes
  std::string problem{};      // why its elements can't be compared; empty: none
};

// The differences of one model, or of one report in a file of several. Reports of one path and opset are paired, others in order.
struct ModelDifference {
  std::string before, after;  // path and opset; empty: the report is only on the other side
  std::vector<PropertyChange> properties;
  std::vector<OperatorChange> operators;
  std::vector<FindingChange> findings;
  std::vector<NodeChange> nodes;      // of models alone
  std::vector<WeightChange> weights;  // of models alone; read in pieces
  bool something_new = false;         // a finding that blocks, or, between models, an operator that wasn't there

  bool empty() const { return properties.empty() && operators.empty() && findings.empty() && nodes.empty() && weights.empty(); }
};

struct Difference {
  static constexpr const char* schema_version = "1.0";
  std::string before, after;  // the files
  std::vector<ModelDifference> models;
  int exit_code = 0;  // exit_findings where something is new, exit_unreadable where elements can't be compared
};

// Files: .onnx, TorchScript, or a JSON report, one or several (also one a line). Throws ModelError for what can't be read.
Difference diff(const std::filesystem::path& before, const std::filesystem::path& after, const DiffOptions& options = {});

}  // namespace compatcheck
