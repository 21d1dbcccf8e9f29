// onnx's own checks and inference, on a skeleton.
#pragma once

#include <map>
#include <string>

#include "model_tools/skeleton.h"

namespace compatcheck::model_tools {

// onnx's checker. Elements that aren't in the message are taken for good: their places were looked at. Throws ModelError with its words.
void check_valid(const ::onnx::ModelProto& model);

// Types of the main graph's values, as the model says them and as ONNX's inference finds them; what contradicts itself has none.
class ValueTypes {
 public:
  explicit ValueTypes(const ::onnx::ModelProto& model);
  // Null if there is none. Tensors may lack a shape.
  const ::onnx::TypeProto* find(const std::string& value);

 private:
  void infer();

  const ::onnx::ModelProto& model_;
  std::map<std::string, ::onnx::TypeProto> types_;
  bool inferred_ = false;
};

// What the checker wants of a type: of a tensor dtype and rank.
bool is_whole(const ::onnx::TypeProto& type);

}  // namespace compatcheck::model_tools
