// onnx's own checks and inference, on a skeleton.
#pragma once

#include <string>
#include <unordered_map>

#include "onnx_file/skeleton.h"

namespace compatcheck::onnx_file {

// Runs onnx's checker. Elements outside of the message are assumed to be valid: their places were checked. Throws ModelError
// with the checker's message.
void check_valid(const ::onnx::ModelProto& model);

// Adds the types that ONNX's inference finds. Throws what onnx throws, also for types that don't fit.
void infer_strictly(::onnx::ModelProto& model);

// Types of values, as stated in the model and found by ONNX's inference; a value with contradicting types has none.
class ValueTypes {
 public:
  // The model must outlive it, unchanged while it is asked.
  explicit ValueTypes(const ::onnx::ModelProto& model);
  // Returns the type of a value that this graph, the model's or a body of it, makes; null if there is none. Tensors may lack a
  // shape.
  const ::onnx::TypeProto* find(const ::onnx::GraphProto& graph, const std::string& value);

 private:
  using Types = std::unordered_map<std::string, ::onnx::TypeProto>;
  void note(const ::onnx::GraphProto& graph);
  void infer();
  void merge(const ::onnx::GraphProto& graph, const ::onnx::GraphProto& inferred);

  const ::onnx::ModelProto& model_;
  std::unordered_map<const ::onnx::GraphProto*, Types> types_;
  bool inferred_ = false;
};

// A copy of the model with the types that ONNX's inference finds, in bodies too; where it fails, with those that are stated.
::onnx::ModelProto with_types(const ::onnx::ModelProto& model);

// Whether the type is complete for the checker: a tensor needs dtype and rank.
bool is_whole(const ::onnx::TypeProto& type);

}  // namespace compatcheck::onnx_file
