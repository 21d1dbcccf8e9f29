// A finished model in onnx's own message, checked as onnx checks it.
#pragma once

#include <onnx/onnx_pb.h>

#include <unordered_map>
#include <vector>

#include "onnx/model.h"

namespace compatcheck::onnx {

// Everything but the elements of initializers whose data is a view: those carry their name, type and dims alone.
::onnx::ModelProto to_proto(const Model& model);

// A model of one node alone: what it reads is its inputs, with their types, and the functions that it calls are there.
::onnx::ModelProto to_proto(const Node& node, const Model& model);

int ir_version(const Model& model);  // the IR version of its file
int ir_version(int opset);           // the one that came with the opset

// The skeleton with such initializers stood in for by typed inputs: onnx's checker, then strict inference of types and shapes.
// Throws InternalError with onnx's message, or TableError if the model holds functions, which are users'. Returns the stand-in
// with the inferred types.
::onnx::ModelProto check(const ::onnx::ModelProto& skeleton, const Model& model);

// Writes the types of inner values for readers of the file: the inferred types, with sizes from `shapes` where inference leaves
// them open.
using KnownShapes = std::unordered_map<ValueId, std::vector<Dimension>>;
void state_types(::onnx::ModelProto& skeleton, const ::onnx::ModelProto& inferred, const Model& model, const KnownShapes& shapes);

// Adds the types that ONNX's inference finds. False: it finds none, because of nodes that aren't ONNX's or aren't right; the
// model stays as it is.
bool infer_types(::onnx::ModelProto& model, bool through_values);

// A size that ONNX's inference couldn't tell has no name.
Dimension dimension_of(const ::onnx::TensorShapeProto_Dimension& dim);

// Shapes of inner tensors that nobody states, as ONNX's own inference has them. `through_values`: also those that follow from
// sizes that the model computes.
void infer_shapes(Model& model, bool through_values = false);
// As a reader of the written file, which states `shapes`, infers them.
void infer_shapes(Model& model, const KnownShapes& shapes);

}  // namespace compatcheck::onnx
