// Parts of ONNX models as one line of text each, for comparing and for reading.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace compatcheck::model_tools {

std::string type_of(const ::onnx::TensorProto& tensor);  // "f32[2,3]"
std::string spell(const ::onnx::TensorProto& tensor);    // small tensors with their values
std::string spell(const ::onnx::SparseTensorProto& tensor);
std::string spell(const ::onnx::AttributeProto& attribute);  // "[1, 2]", "\"constant\"", "f32[64]"
std::string spell(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>& values);  // "x f32[2], c bool[]"
std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names);

std::string full_operator(const ::onnx::NodeProto& node);  // "com.microsoft::Gelu", "my::f.overload"
std::string given_by(const ::onnx::NodeProto& node);       // the first output that it gives
std::string title_of(const ::onnx::NodeProto& node);       // its name, or else its output, or its operator
std::string title_of(const ::onnx::FunctionProto& function);

}  // namespace compatcheck::model_tools
