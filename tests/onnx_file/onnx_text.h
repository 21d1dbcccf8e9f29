// Models in ONNX's own text notation, for tests.
#pragma once

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <stdexcept>

namespace compatcheck::onnx_file {

template <class Message>
Message read_text(const char* text) {
  Message message;
  const auto status = ::onnx::OnnxParser::Parse(message, text);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return message;
}

// Both branches have a p and a w of their own.
inline constexpr const char* branches = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, bool c) => (y) <float[2] v = {1, 2}> {
  a = Abs(x)
  y = If(c) <then_branch = t () => (q) <float[2] w = {3, 4}> { p = Add(a, w) q = Neg(p) },
             else_branch = e () => (r) <int64[1] w = {2}> { p = Reshape(a, w) r = Add(p, v) }>
})";

}  // namespace compatcheck::onnx_file
