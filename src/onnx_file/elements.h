// The elements of a TensorProto as numbers, wherever they lie.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

#include "compatcheck/inspect.h"
#include "ir/constant.h"
#include "ir/watch.h"
#include "onnx_file/skeleton.h"

namespace compatcheck::onnx_file {

// The first ones of a tensor that carries them itself.
std::vector<Scalar> first_elements(const ::onnx::TensorProto& tensor, std::uint64_t most);

// Statistics of the tensor's own elements, or of `far`. Nullopt for strings, complex numbers and types without a decoding here.
// Reads in pieces; throws ModelError where the file ends.
std::optional<TensorStatistics> statistics_of(const ::onnx::TensorProto& tensor, const FarElements* far, const ir::Watch& watch);

// Statistics of a parameter, or of a value. `file` holds its storage, if the storage doesn't carry its bytes.
std::optional<TensorStatistics> statistics_of(const ir::TensorView& tensor, const files::InputFile* file, const ir::Watch& watch);

}  // namespace compatcheck::onnx_file
