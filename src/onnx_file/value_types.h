// Types of ONNX values, as reports spell them.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "compatcheck/report.h"

namespace compatcheck::onnx_file {

// Returns dtype and sizes of a tensor, or the type as text: "seq(f32[2,3])", "map(i64, f32)".
TensorInfo info_of(const std::string& name, const ::onnx::TypeProto& type);
TensorInfo info_of(const ::onnx::ValueInfoProto& value);
std::string spell(const ::onnx::TypeProto& type);

// "Conv", "com.microsoft::Gelu".
std::string operator_name(const std::string& domain, const std::string& op);

}  // namespace compatcheck::onnx_file
