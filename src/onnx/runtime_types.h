// The element types with which ONNX Runtime's CPU provider runs operators: mappings/onnxruntime_types.yaml as static data.
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
  int since = 0, until = 0;  // opsets of the model
  std::span<const Parameter> parameters;
};

std::span<const RuntimeTypes> runtime_types();  // sorted by operator and opset

// Whether the runtime takes `dtype` for the schema's type parameter in a model of this opset; yes where the data doesn't name the
// parameter, as what wasn't tried is left to the runtime. The answer holds for the opsets `since` to `until`.
struct Runs {
  bool yes = true;
  int since = 0, until = 1000;
};
Runs runs(const Schema& schema, int opset, std::string_view type_parameter, ir::DType dtype);

// The highest opset up to `opset` at which the runtime has a kernel for the operator, for one dtype or another; 0 if there is
// none. `opset` itself for operators that the data doesn't list.
int last_with_kernel(std::string_view op, int opset);

}  // namespace compatcheck::onnx
