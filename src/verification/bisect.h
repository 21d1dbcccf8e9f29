// Which operator made a model wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/prepare.h"
#include "frontend/load.h"
#include "ir/constant.h"
#include "verification/compare.h"
#include "verification/onnx_graph.h"
#include "verification/runtime.h"

namespace compatcheck::verification {

// An ONNX value that stands for a value of the graph, or for a member of one.
struct NamedStand {
  const ir::Value* value = nullptr;
  std::vector<std::size_t> path;
  std::string name;
};

struct BisectInput {
  const Model::State& model;
  const analysis::Prepared& prepared;
  const ir::Constants& arguments;  // arguments of the prepared graph
  std::uint64_t seed;              // seed of TorchScript's generator
  const std::vector<NamedStand>& stands;
  const OnnxGraph& onnx;
  const Runtime& runtime;
  frontend::Frontend& frontend;
  std::function<Tolerance(ir::DType)> tolerance;
  std::uint64_t memory;  // bytes of intermediate values that are held at a time
  ir::Watch watch;
  std::function<void(std::uint64_t done)> progress;  // runs
};

// The operator that leaves tolerance on TorchScript's own inputs.
struct BadValue {
  const ir::Value* value = nullptr;
  std::string name;                // the ONNX value
  std::vector<std::string> nodes;  // ONNX nodes between its inputs and it
  std::string difference;          // "3 of 40 values …", or why the runtime doesn't run it
  std::uint64_t execution = 0;     // index of the execution of the body that contains the value
  // The nodes alone: a model, its inputs as TorchScript has them, and TorchScript's result.
  Segment segment;
  std::vector<std::pair<std::string, ir::Constant>> inputs;
  ir::Constant expected;
};

struct Bisected {
  std::optional<BadValue> bad;      // none: every operator is within tolerance by itself
  const ir::Value* tied = nullptr;  // the first value that names other, equally large elements
  std::uint64_t runs = 0;           // runs of the graph in TorchScript
  std::uint64_t compared = 0;       // values
  std::uint64_t bytes = 0;          // size of all intermediate values
  std::uint64_t unfed = 0;          // values whose nodes require another dtype or rank than TorchScript's value has
};

// Every ONNX value that stands for one of TorchScript's is computed from TorchScript's own, so that it inherits no error,
// and compared, in graph order. Bodies of If and Loop whose results are wrong are included. Throws ModelError if
// TorchScript's graph can't be run.
Bisected bisect(const BisectInput& input);

}  // namespace compatcheck::verification
