// What check() finds, as data. The JSON report has the same fields in the same order (`compatcheck schema`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/export_type.h"

namespace compatcheck {

// What the command line ends with.
inline constexpr int exit_passed = 0, exit_findings = 1, exit_usage = 2, exit_unreadable = 3;

enum class Verdict : std::uint8_t { yes, no, needs_input };
enum class OperatorClass : std::uint8_t { one_to_one, one_to_many, missing, structural };
enum class Severity : std::uint8_t { error, warning, note };

// A size as text: "3", or a dimension's name, or "?" if unknown.
struct TensorInfo {
  std::string name;
  std::string dtype;                 // "f32"; for what is no tensor its TorchScript type ("int[]"); "?" if unknown
  std::optional<std::vector<std::string>> shape;  // absent: unknown rank, or no tensor
};

struct ModelInfo {
  std::string path;
  std::string identity;              // hash of the archive's directory: names, sizes, CRCs
  std::optional<std::string> sha256; // of the whole file, on request
  std::string format;                // "torchscript", "graph_text"
  std::string description;           // for people: "TorchScript (traced)"
  std::uint64_t bytes = 0;
  struct { std::uint64_t count = 0, bytes = 0; } parameters;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> steps;    // normalisations that changed something
  std::vector<std::string> warnings; // what was given that contradicts the file
};

struct Summary {
  // Numbers of operators but for `nodes`; structural nodes are left out of nodes and coverage.
  int nodes = 0, operators = 0, one_to_one = 0, one_to_many = 0, missing = 0, refused = 0, needs_input = 0,
      unassessed = 0, structural = 0;
  int kept = 0;                      // nodes written as PyTorch's operators; they count as ones that don't convert in the coverage
  bool convertible = false;
  double coverage_nodes = 1, coverage_operators = 1;  // 0 to 1
  std::optional<int> lowest_opset;   // at which the model converts whole; absent while nodes are unassessed
};

// A row of a mapping table, and how many calls it decided.
struct RowUse {
  std::string place;                 // "mappings/operators/pooling.yaml:5"
  std::string source;                // the file
  int line = 0;
  bool users = false;                // the file is a user's, given by --mappings
  int nodes = 0;
  std::string lifted;                // the refusal of PyTorch's exporter that it doesn't make; empty: none
};

struct OperatorSummary {
  std::string op, overload;
  OperatorClass operator_class = OperatorClass::missing;
  bool verified = false;             // its handler exists and ran in a test
  std::vector<std::string> onnx;     // what carries the meaning
  std::optional<int> since;          // opset of the row in force
  std::optional<int> available_from; // lowest opset above the asked one at which every call of it converts
  int nodes = 0, blocked = 0;
  int kept = 0;                      // written as PyTorch's operators, as the export type has it
  std::vector<RowUse> rows;          // in the tables' order
  std::map<std::string, int> emitted;  // ONNX operator → nodes; empty while conversion isn't run
};

struct Site {
  std::uint32_t index = 0;           // of the node, in graph order
  std::string module, file;
  int line = 0;
  std::string function, args;
};

struct Suppression {
  std::string reason;
  std::optional<std::string> expires;
  std::string source;
};

struct Finding {
  std::string id;                    // "CC001"
  Severity severity = Severity::error;
  std::string op, overload, message, help;
  std::string row{};                   // of a mapping file (docs/mappings.md), to be pasted; empty: none would help
  std::optional<int> available_from;
  int nodes = 0;
  std::vector<Site> sites;
  std::optional<std::string> target;
  std::optional<Suppression> suppressed;
};

enum class FailOn : std::uint8_t { unconvertible, missing, conditional, composite, warning, never };

struct Gate {
  bool passed = true;
  FailOn fail_on = FailOn::unconvertible;
  int violations = 0;
};

struct Report {
  static constexpr const char* schema_version = "1.0";
  struct { std::string name, version, libtorch, onnx; } tool;
  ModelInfo model;
  int opset = 17;
  ExportType export_type = ExportType::onnx;
  Verdict verdict = Verdict::no;
  Summary summary;
  std::vector<OperatorSummary> operators;  // by name
  std::vector<Finding> findings;           // by severity, then by number of nodes
  Gate gate;
  int exit_code = 0;
  // Why the model could not be checked (failure_report): then only tool, model.path and exit_code say something.
  std::optional<std::string> error;

  bool convertible() const { return !error && verdict == Verdict::yes; }
};

}  // namespace compatcheck
