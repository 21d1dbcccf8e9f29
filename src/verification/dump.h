// The values inside an ONNX model, saved.
#pragma once

#include <cstdint>
#include <filesystem>

#include "ir/watch.h"
#include "verification/onnx_graph.h"
#include "verification/repro.h"
#include "verification/runtime.h"

namespace compatcheck::verification {

// Runs the model and saves every value that a node of its main graph makes as "0007__encoder_Relu_output_0.npy" (bf16 as f32;
// members of a sequence one by one), and values.tsv with one line each: file, value, node, dtype, shape, minimum, maximum,
// mean, standard deviation, zeros, NaN and infinite elements. Files that an earlier table in the folder lists are removed.
// About `memory` bytes are held at a time: values that later nodes read are kept for these, or computed again. Returns the
// number of values. Throws UsageError if the folder can't be written, ModelError if the model doesn't run.
std::uint64_t dump(const std::filesystem::path& folder, const OnnxGraph& onnx, const Runtime& runtime, const NamedValues& inputs,
                   std::uint64_t memory, const ir::Watch& watch);

}  // namespace compatcheck::verification
