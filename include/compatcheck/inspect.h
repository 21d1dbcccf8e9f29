// Lists the contents of a model file: an ONNX file from any exporter, or a TorchScript file.
//
//   auto inspection = compatcheck::inspect("model.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

struct InspectOptions {
  // Only nodes that match one of these are listed: "Conv", "com.microsoft::Gelu", "aten::conv2d", "aten::add.Tensor".
  std::vector<std::string> operators{};
  std::vector<std::string>
      nodes{};           // names of nodes, their outputs or (TorchScript) modules; nodes that have one are listed, too
  bool weights = false;  // statistics of initializers and parameters; external data is read for this alone
  LoadOptions load{};    // how to load TorchScript files
};

using Scalar = std::variant<std::int64_t, double, bool, std::string>;

// Statistics of the finite elements, in double; absent if there are none.
struct TensorStatistics {
  std::optional<double> min, max, mean, std;
  std::uint64_t zeros = 0, nan = 0, inf = 0;
};

// Where the elements lie beside the model file.
struct ExternalPlace {
  std::string location;  // as stated in the model
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // absent: the length follows from dtype and shape
  std::string problem;                  // "isn't there", "ends at byte 12 of 400" …; empty: none
};

struct TensorContents {
  std::string name, scope;  // scope: for initializers in bodies, see NodeContents::scope
  std::string
      kind;  // "initializer", "sparse initializer", "parameter", "buffer", "attribute", "constant"; empty in node attributes
  std::string dtype;  // "f32"
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 0, bytes = 0;
  std::optional<ExternalPlace> external;
  std::vector<Scalar> values;  // the first ones of a small tensor in the model itself
  std::optional<TensorStatistics> statistics;
  std::string problem;  // mismatch between the elements and dtype and shape; empty: none
};

struct AttributeContents {
  std::string name;
  std::string type;            // "int", "ints", "float", "floats", "string", "strings", "tensor", "tensors", "graph", …
  std::vector<Scalar> values;  // one, unless the type is a list
  std::vector<TensorContents> tensors;
  std::vector<std::string> graphs;  // the scopes of bodies
  std::vector<std::string> types;   // for type attributes
  std::string reference;            // in a function: the function's attribute that it refers to; otherwise empty
};

struct NodeContents {
  std::uint32_t index = 0;  // index in its graph, from 0
  std::string scope;        // empty: the model's graph; otherwise "loop_1.body", "my.domain::Function"
  std::string name, op;     // op: "Conv", "com.microsoft::Gelu", "aten::add.Tensor"
  std::string overload;     // ONNX: the function's; TorchScript: "Tensor"
  std::vector<std::string> inputs, outputs;
  std::vector<TensorInfo> output_types;  // the types that the file states
  std::vector<AttributeContents> attributes;
  std::string module, file, function;  // TorchScript: place in the source; not read from ONNX doc_strings or metadata
  int line = 0;
  std::string args;  // TorchScript: the call's arguments with their names
  std::vector<std::pair<std::string, std::string>> metadata;
};

struct OperatorCount {
  std::string op;
  std::uint64_t nodes = 0;  // bodies included, functions not
};

// The body of an If, Loop, Scan …
struct SubgraphContents {
  std::string scope;
  std::vector<TensorInfo> inputs, outputs;
  std::uint64_t nodes = 0, initializers = 0;
};

struct FunctionContents {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;  // attributes: those that a call must set
  std::vector<AttributeContents> defaults;               // values of the optional attributes
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  std::vector<OperatorCount> operators;
  std::uint64_t nodes = 0, calls = 0;  // calls: nodes that call it, in the whole model
};

struct ExternalFile {
  std::string location;
  std::uint64_t tensors = 0, bytes = 0;     // the model's tensors in this file
  std::optional<std::uint64_t> file_bytes;  // absent: the file is missing
  std::uint64_t problems = 0;               // tensors whose elements the file doesn't hold
};

struct SizePart {
  std::string part;  // "weights", "nodes", "code" …
  std::uint64_t bytes = 0;
};

struct OnnxContents {
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  // domain ("" is ONNX's own), version
  std::int64_t model_version = 0;
  std::string domain, graph, documentation;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<SubgraphContents> subgraphs;
  std::vector<FunctionContents> functions;
  std::vector<ExternalFile> external_files;
  std::uint64_t training_graphs = 0;  // number of graphs in training_info; their contents aren't listed
};

struct ModuleContents {
  std::string path, class_name;        // path: "encoder.layer.0", empty at the root
  std::uint64_t count = 0, bytes = 0;  // elements and bytes of its own parameters and buffers
};

struct TorchScriptContents {
  std::string libtorch;  // version that read the file
  bool traced = false, training = false;
  std::string class_name;
  std::vector<std::string> methods;                        // names and signatures
  std::vector<ModuleContents> modules;                     // in tree order
  std::uint64_t parameter_count = 0, parameter_bytes = 0;  // distinct storages
  std::vector<std::string> notes;                          // assumptions made while loading
};

struct Inspection {
  static constexpr const char* schema_version = "1.0";
  std::string path, format;  // format: "onnx", "torchscript", "exported_program", "graph_text"
  std::string producer;      // "pytorch 2.13.0"; empty if the file doesn't state it
  std::uint64_t bytes = 0;   // size of the file itself
  std::vector<TensorInfo> inputs, outputs;
  std::uint64_t nodes = 0;               // all nodes, listed or not
  std::vector<OperatorCount> operators;  // sorted by number of nodes, then name
  std::vector<NodeContents> node_list;   // ONNX: all, or those that match; TorchScript: those that match
  std::vector<TensorContents> tensors;   // initializers; parameters, buffers and constants
  std::vector<SizePart> sizes;
  bool filtered = false;  // InspectOptions::operators or nodes was set
  std::string unmatched;  // filters that no node matches, with near names; empty: none
  std::optional<OnnxContents> onnx;
  std::optional<TorchScriptContents> torchscript;
};

// Throws ModelError for a file that can't be read. At most 512 MB of an ONNX file are held, without the weights, and at most
// 500,000 nodes, attributes and initializers are listed.
Inspection inspect(const std::filesystem::path& file, const InspectOptions& options = {});
// External data is looked for in the working folder.
Inspection inspect(std::span<const std::byte> bytes, const std::string& display_name, const InspectOptions& options = {});

}  // namespace compatcheck
