// The element types for which ONNX Runtime's CPU provider has kernels: mappings/onnxruntime_types.yaml as static data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/dtype.h"
#include "onnx/schema.h"

namespace compatcheck::onnx {

struct RuntimeTypes {
  struct Parameter {
    std::string_view name;
    std::span<const ir::DType> dtypes;
  };
  std::string_view op;
  int since = 0, until = 0;  // versions of the operator that the kernel serves
  std::span<const Parameter> parameters;
};

std::span<const RuntimeTypes> runtime_types();  // by operator and version

// Whether a kernel takes `dtype` for the schema's type parameter; true where the data doesn't name the parameter, as what a
// runtime doesn't tell is left to it.
bool has_kernel(const Schema& schema, std::string_view type_parameter, ir::DType dtype);

}  // namespace compatcheck::onnx
