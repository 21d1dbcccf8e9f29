// Passes on a finished model. Each keeps what the model computes.
#pragma once

#include <unordered_set>
#include <vector>

#include "onnx/model.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {

// Initializers that fuse_batch_norm and fold_constants will read, of at most `most_read` bytes each.
std::vector<const TensorData*> weights_to_read(const Model& model, std::uint64_t most_read);

std::size_t node_count(const Model& model);  // bodies included
bool has_open_sizes(const Model& model);     // some size is known only when the model runs

// Nodes and initializers that nothing reads.
void remove_dead(Model& model);
// Identity nodes, but for those that give an output its own name.
void remove_identities(Model& model);
// LSTM, GRU and RNN begin with zeros where no state is given.
void drop_zero_states(Model& model);
// Merges equal nodes with equal inputs in one graph; random ones all stay.
void merge_equal(Model& model);
// A BatchNormalization behind a Conv that nothing else reads goes into the Conv's weight and bias. `weights`: where they lie.
void fuse_batch_norm(Model& model, const WeightFile& weights);
// Nodes that compute with weights and constants alone, of moderate size, become weights, unless the file would grow by more than
// a few kilobytes.
void fold_constants(Model& model, const WeightFile& weights);
// The nodes that fold_constants would remove, in bodies too.
std::unordered_set<const Node*> foldable_nodes(const Model& model);
// ONNX Runtime (PadFusion, 1.17 to 1.31) takes zeros that a Pad puts around a MaxPool's input into its `pads`, which count as
// -infinity; not where auto_pad says that there are none, nor where the MaxPool gives positions, too. Before opset 8, which has
// no positions, another Pad stands between. An AveragePool with such zeros that are as wide as its window doesn't load; auto_pad
// keeps them apart there, too.
void guard_padding(Model& model);
// Other forms that ONNX Runtime's fusions make wrong (1.31) become equal ones that they leave alone: docs/onnxruntime.md.
void guard_fusions(Model& model);
// At opset 10 onnx infers that a Slice with constant bounds keeps a named size, and ONNX Runtime then takes a buffer of the
// wrong size again. To prevent this inference, the ends are computed there.
void guard_slices(Model& model);
// From opset 21 on ONNX Runtime moves the DequantizeLinear of int8 tensors behind a Reshape and the like, and then writes a
// model that doesn't load. This pass moves the integers instead.
void guard_quantized(Model& model);
// Weights are inputs too, whose values a caller may replace; constants that came with the conversion aren't.
void offer_weights(Model& model);
// Names what has none yet, after modules and operators ("/encoder/layer.0/MatMul_output_0"). All names are unique.
void name_all(Model& model);

}  // namespace compatcheck::onnx
