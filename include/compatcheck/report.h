// The findings of check() as data. The JSON report has the same fields in the same order (`compatcheck schema`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/export_type.h"

namespace compatcheck {

// Exit codes of the command line; 130 after an interruption.
inline constexpr int exit_passed = 0, exit_findings = 1, exit_usage = 2, exit_unreadable = 3;

enum class Verdict : std::uint8_t { yes, no, needs_input };
enum class OperatorClass : std::uint8_t { one_to_one, one_to_many, missing, structural };
enum class Severity : std::uint8_t { error, warning, note };

// The values of a quantized tensor's integers: (integer - zero point) * scale.
struct Quantization {
  std::vector<double> scales;  // one, or one for each position along `axis`
  std::vector<std::int64_t> zero_points;
  std::optional<std::int64_t> axis{};
  std::string onnx_dtype;  // dtype of the ONNX model's input or output: "f32", or "u8" or "i8" (--quantized-io int)
};

// A size as text: "3", or a dimension's name, or "?" if unknown.
struct TensorInfo {
  std::string name;
  // "f32"; "f32?" for an output that is None in some runs; the TorchScript type if it is no tensor ("int[]"); "?" if unknown
  std::string dtype;
  std::optional<std::vector<std::string>> shape;  // absent: unknown rank, or no tensor
  bool assumed = false;                           // inferred input, in whole or in part: see ModelInfo::assumed
  std::optional<Quantization> quantization{};     // absent: not quantized, or not known
};

// An input, or a member of a tuple among them, whose dtype or shape was inferred because neither the file nor the options state
// it.
struct AssumedInput {
  struct Reason {
    std::vector<std::string> what;  // "f32", "rank 4", "3 in dimension 1"
    std::string op;                 // operator that requires it; empty: no operator that reads the input decides
    std::string module, file;       // the operator's; empty: not known
    int line = 0;                   // counted from 1; 0: not known
  };
  TensorInfo tensor;
  std::string option;  // the --input text that states the same: "x=f32:x0,3,x2,x3"; empty if there is none
  std::vector<Reason> because;
};

// An attribute that keeps its value between calls: an input and an output of the ONNX model (StateMode::inputs_outputs).
struct StateInfo {
  std::string attribute;  // name in the state_dict: "layers.0.k_cache"; the first call starts with the value in the file
  TensorInfo input;       // a number is a tensor of rank 0
  std::string output;     // its value after the call
};

struct ModelInfo {
  std::string path;
  std::string identity;               // hash of the archive's directory: names, sizes, CRCs
  std::optional<std::string> sha256;  // hash of the whole file, on request
  std::string format;                 // "torchscript", "exported_program", "graph_text", "onnx"
  std::string description;            // human-readable: "TorchScript (file format 3, traced)"
  std::uint64_t bytes = 0;
  struct {
    std::uint64_t count = 0, bytes = 0;
  } parameters;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<StateInfo> state;       // the last of the inputs and outputs, in the same order
  std::vector<AssumedInput> assumed;  // inputs that were inferred from the operators that read them
  std::vector<std::string> steps;     // normalizations that changed something
  std::vector<std::string> warnings;  // options that contradict the file
};

struct Summary {
  // All but `nodes` and `kept` count operators. Structural nodes aren't counted in `nodes` and the coverage.
  int nodes = 0, operators = 0, one_to_one = 0, one_to_many = 0, missing = 0, refused = 0, needs_input = 0, unassessed = 0,
      structural = 0;
  int kept = 0;  // nodes written as PyTorch's operators; they count as ones that don't convert in the coverage
  bool convertible = false;
  double coverage_nodes = 1, coverage_operators = 1;  // 0 to 1
  std::optional<int> lowest_opset;                    // lowest opset to convert the model; absent while nodes are unassessed
};

// A row of a mapping table, and how many calls it decided.
struct RowUse {
  std::string place;   // "mappings/operators/pooling.yaml:5"
  std::string source;  // the file
  int line = 0;        // counted from 1
  bool users = false;  // the file is a user's, given by --mappings
  int nodes = 0;
  std::string lifted;  // limit of PyTorch's exporter that this row lifts; empty: none
};

struct OperatorSummary {
  std::string op, overload;
  OperatorClass operator_class = OperatorClass::missing;
  bool verified = false;              // its handler exists and ran in a test
  std::vector<std::string> onnx;      // ONNX operators that it becomes, without casts, shapes and constants
  std::optional<int> since;           // opset of the row in force
  std::optional<int> available_from;  // lowest opset above the asked one at which no call of it is missing or refused
  int nodes = 0, blocked = 0;
  int kept = 0;                        // written as PyTorch's operators, as the export type has it
  std::vector<RowUse> rows;            // in table order
  std::map<std::string, int> emitted;  // nodes of each ONNX operator; empty while conversion isn't run
};

struct Site {
  std::uint32_t index = 0;     // the node's index in graph order
  std::string module, file;    // "encoder.layer.0"; as the model recorded it; empty: not known
  int line = 0;                // counted from 1; 0: not known
  std::string function, args;  // "forward"; "relu(x)"
};

// Why a finding doesn't count: an allow entry of the configuration, or a baseline that lists it.
struct Suppression {
  std::string reason;
  std::optional<std::string> expires;  // "2027-01-31": the last day
  std::string source;                  // "compatcheck.yaml:12", "baseline.json"
};

// Compared with a baseline: listed there, not listed, or listed for fewer nodes.
enum class BaselineState : std::uint8_t { unchanged, added, grown };

struct Finding {
  std::string id;  // "CC001"
  Severity severity = Severity::error;
  std::string op, overload, message, help;
  std::string input{};  // the model's input that the finding is about (CC006, CC014): "x"; empty: none
  std::string row{};    // row to paste into a mapping file (docs/mappings.md); empty: none would help
  std::optional<int> available_from;
  int nodes = 0;  // in the checked graph; in the ONNX model for an engine's finding without sites
  std::vector<Site> sites;
  std::optional<std::string> target{};  // the engine that it is about: "tensorrt@10.15"
  std::optional<Suppression> suppressed{};
  std::optional<BaselineState> baseline{};  // absent: no baseline was given
};

enum class FailOn : std::uint8_t { unconvertible, missing, conditional, composite, warning, never };

struct Gate {
  bool passed = true;
  FailOn fail_on = FailOn::unconvertible;
  int violations = 0;
  std::optional<int> max_missing{};  // if the option was given
  bool one_opset_is_enough = false;  // a range of opsets was requested: one passing report of the model in the run is enough
};

// Whether an engine supports a node or a model; unknown if its profile doesn't say.
enum class Support : std::uint8_t { yes, no, unknown };

// Whether an engine supports the ONNX model, node by node. A node that doesn't become ONNX isn't supported. Support is unknown
// for a node that wasn't assessed.
struct TargetSummary {
  std::string target;  // "tensorrt@10.15"
  std::string engine, version;
  std::string source, date;            // the profile's: where its facts come from, and when they were true
  Support support = Support::unknown;  // support of the whole model
  int nodes = 0, supported = 0, unsupported = 0, unknown = 0;  // nodes of the ONNX model, bodies included
  int partitions = 0;                                          // groups of supported nodes that can run in one go
  std::optional<int> lowest_opset;                             // lowest opset at which the engine supports the whole model
  struct Operator {
    std::string onnx;  // "GridSample", "com.microsoft::Gelu"
    Support support = Support::unknown;
    int nodes = 0;
  };
  std::vector<Operator> operators;  // sorted by name; an operator has one entry for each kind of support
  // Calls that are written in the form of an older opset, because the engine doesn't take the newer one.
  struct OlderForm {
    std::string op, overload;
    int opset = 0;                          // of the form
    int calls = 0;                          // nodes of the checked graph
    int more_nodes = 0;                     // of the ONNX model, for all of these calls; may be negative
    std::vector<std::string> newer, older;  // ONNX operators of either form, each once
    std::string limit;                      // why the engine doesn't take the newer form
  };
  std::vector<OlderForm> older_forms{};
  // The opset at which the engine supports most: the report's if it supports the whole model there, otherwise the lowest such
  // one; if there is none, that with the fewest unsupported nodes, then unknown ones.
  std::optional<int> best_opset{};
};

// The nodes of the graph that was checked, in order: a site's index is a place in `nodes`.
struct GraphSummary {
  enum class Outcome : std::uint8_t { ok, missing, refused, needs_input, unassessed, structural };
  struct Node {
    std::uint32_t op = 0, module = 0;  // places in the lists below
    Outcome outcome = Outcome::ok;
    std::vector<std::uint32_t> inputs;           // nodes whose results this node reads
    std::uint32_t type = 0, call = 0, onnx = 0;  // places in `types`, `calls` and `emissions`
  };
  std::vector<std::string> operators, modules;
  std::vector<std::string> types{};      // of a node's results: "f32[batch, 64]"; "?" if unknown
  std::vector<std::string> calls{};      // as in Site::args: "relu(x)"
  std::vector<std::string> emissions{};  // ONNX nodes that the call becomes: "Transpose, MatMul, Add"; empty if none
  std::vector<Node> nodes;
};

// The inputs and outputs of the ONNX model, in order.
struct Signature {
  struct Value {
    std::string name;
    std::string type;  // "f32[batch,3]", "seq(f32[n])", "optional(f32)"; "f32" alone: of unknown rank
  };
  std::vector<Value> inputs, outputs;
  // Inputs whose first size is 1 only because the example of the trace had that size, as options that name it:
  // "x=f32:batch,3,224,224".
  std::vector<std::string> traced_batches{};
};

// The model that convert() wrote.
struct WrittenModel {
  int opset = 0;
  std::uint64_t nodes = 0;                        // nodes of the model's graph and its bodies, without functions
  std::uint64_t initializers = 0;                 // weights and constants
  std::uint64_t bytes = 0;                        // size of the model's file
  std::vector<std::string> dynamic_dimensions{};  // names, in the order of the inputs and outputs
  std::vector<std::string> functions{};           // local functions: "acme.ops::FusedBias"
  struct ExternalFile {
    std::string file;
    std::uint64_t bytes = 0;
  };
  std::vector<ExternalFile> external_files{};  // beside the model's file
  Signature signature{};
};

struct Report {
  static constexpr const char* schema_version = "1.0";
  struct {
    std::string name, version, libtorch, onnx;
  } tool;
  ModelInfo model;
  int opset = 17;
  ExportType export_type = ExportType::onnx;
  Verdict verdict = Verdict::no;
  Summary summary;
  std::vector<OperatorSummary> operators;   // sorted by name
  std::vector<Finding> findings;            // sorted by severity, then number of nodes
  std::vector<TargetSummary> targets;       // in the order of the options
  std::optional<int> targets_lowest_opset;  // lowest opset at which all targets support the whole model
  std::optional<GraphSummary> graph;        // filled on request
  Gate gate;
  std::optional<std::string> settings;  // settings_digest(); tells a later run whether the report is still true
  std::optional<Signature> signature;   // set if the model converts
  std::optional<WrittenModel> written;  // set by convert(); absent: nothing was written
  int exit_code = 0;
  // Why the model could not be checked (failure_report): then only tool, model.path and exit_code say something.
  std::optional<std::string> error;

  bool convertible() const { return !error && verdict == Verdict::yes; }
};

}  // namespace compatcheck
