// TorchScript's result, whatever its structure, beside the ONNX model's outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "symbolic/call.h"
#include "symbolic/fact.h"
#include "verification/compare.h"

namespace compatcheck::verification {

struct Pair {
  std::string name;                // the ONNX output's; "boxes.1" for a member of a sequence
  ir::TensorView expected, found;  // without storage where both are None
  bool none = false;               // both sides are None
};

struct Matched {
  std::vector<Pair> pairs;
  std::string mismatch;       // why they can't be paired; empty if they can
  bool nones_differ = false;  // for one of them is None, and TorchScript's or the ONNX model's isn't
};

// The graph's outputs, which tell where a None of TorchScript's is an output of the ONNX model.
struct OutputForms {
  const ir::Graph& graph;
  const symbolic::FactTable& facts;
};

// Tuples and dicts are flattened in order, dicts by name if their keys are names of outputs. None is paired with an output that
// may be None, else skipped; a list is paired with a sequence, or flattened. A Python number is paired with a tensor of rank 0 of
// any dtype that can represent it.
Matched match(const ir::Constant& expected, const ir::Constants& found, const std::vector<std::string>& names,
              const OutputForms& forms);

// A tensor; a number as one of rank 0, a list of numbers as one of rank 1, of the dtype `beside` if that can hold them; nullopt
// for everything else.
std::optional<ir::TensorView> as_tensor(const ir::Constant& value, std::optional<ir::DType> beside);

// A tensor of rank 0 as the number that `number` is; every other value as it is.
ir::Constant like(const ir::Constant& number, const ir::Constant& value);

// The values of the graph that its outputs' tensors are, in that order.
std::vector<const ir::Value*> leaves_of(const ir::Graph& graph);

// The tensors in it, in that order; numbers as tensors.
std::vector<ir::TensorView> leaves_of(const ir::Constant& value);

}  // namespace compatcheck::verification
