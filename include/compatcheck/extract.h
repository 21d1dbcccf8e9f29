// A part of an ONNX model as a model of its own.
//
//   compatcheck::extract("model.onnx", "part.onnx", {.from = {"hidden"}, .to = {"logits"}});
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compatcheck/convert.h"
#include "compatcheck/report.h"
#include "compatcheck/run.h"

namespace compatcheck {

struct ExtractOptions {
  // Values of the model's graph by name, or modules ("encoder.layer.0"), where nodes are named by their modules, as convert() and
  // PyTorch's exporters name them; an end of the path will do if no other module has it. A module stands in `from` for the values
  // that it reads, in `to` for its values that other modules read.
  std::vector<std::string> from{};         // the new inputs, in their order; empty: the model's own
  std::vector<std::string> to{};           // the new outputs; empty: the model's own
  std::vector<std::string> add_outputs{};  // values that become additional outputs; {"all"}: every one whose type is known
  ExternalData external_data = ExternalData::automatic;  // automatic: as in the model, and above 2 GB
  double timeout_seconds = 120;                          // limit for everything but copying weights
  RunOptions run{};
};

struct Extraction {
  std::vector<TensorInfo> inputs, outputs;
  std::uint64_t nodes = 0, initializers = 0, functions = 0;
  std::uint64_t nodes_before = 0;               // nodes of the original model's graph
  std::uint64_t bytes = 0, external_bytes = 0;  // bytes written to the model's file and to FILE.data
  std::vector<std::string> warnings;
};

// Reads `model`, writes `file`, and FILE.data beside it where weights lie apart: whole, after onnx's checker has passed it, or
// not at all. Nodes that `to` needs are kept, with initializers, types and local functions that they use; what If, Loop or Scan
// bodies read of the graph around them counts as read by the node. Inputs and outputs without a type in the model get the one
// that ONNX's shape inference finds. Throws UsageError: an unknown name (with near ones), an input that `from` lacks, an
// output of unknown rank, a file that can't be written. ModelError: a model that can't be read or isn't valid, external
// data that is missing.
Extraction extract(const std::filesystem::path& model, const std::filesystem::path& file, const ExtractOptions& options);

}  // namespace compatcheck
