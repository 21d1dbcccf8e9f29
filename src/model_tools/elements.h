// The elements of a TensorProto as numbers, wherever they lie.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

#include "compatcheck/inspect.h"
#include "ir/constant.h"
#include "model_tools/skeleton.h"

namespace compatcheck::model_tools {

// The first ones of a tensor that carries them itself.
std::vector<Scalar> first_elements(const ::onnx::TensorProto& tensor, std::uint64_t most);

// Of what the tensor carries, or of `far`. Nullopt for strings, complex numbers and types without a decoding here. Reads in pieces; throws
// ModelError where the file ends.
std::optional<TensorStatistics> statistics_of(const ::onnx::TensorProto& tensor, const FarElements* far);

// Of a parameter. `file`: what its storage lies in.
std::optional<TensorStatistics> statistics_of(const ir::TensorView& tensor, const frontend::InputFile* file);

}  // namespace compatcheck::model_tools
