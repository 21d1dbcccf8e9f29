// The nodes written for operators that ONNX lacks (docs/export-types.md).
#pragma once

#include <cstdint>

namespace compatcheck {

enum class ExportType : std::uint8_t {
  onnx,                // nothing: the model doesn't convert
  onnx_aten,           // every operator of aten:: as org.pytorch.aten::ATen, those that ONNX has too
  onnx_aten_fallback,  // what doesn't become ONNX, as org.pytorch.aten::ATen; of aten:: alone
  onnx_fallthrough,    // what doesn't become ONNX, as itself: org.pytorch.aten::triu, my_lib::my_add
  raw,                 // the whole TorchScript graph, node by node
};

}  // namespace compatcheck
