#include "verification/repro.h"

#include <onnx/onnx-data.pb.h>
#include <onnx/onnx_pb.h>

#include "compatcheck/error.h"
#include "onnx/model.h"
#include "verification/match.h"
#include "verification/write_file.h"

namespace compatcheck::verification {
namespace {

namespace fs = std::filesystem;

::onnx::TensorProto tensor_of(const ir::TensorView& view, const std::string& name) {
  ::onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::data_type(view.dtype));
  for (const std::int64_t size : view.sizes) proto.add_dims(size);
  proto.set_raw_data(view.storage->data.data(), view.storage->data.size());
  return proto;
}

std::string message_of(const ir::Constant& value, const std::string& name) {
  const auto* list = value.get<ir::ListConstant>();
  const bool tensors = list && (list->items.empty() || list->items.front().get<ir::TensorView>());
  if (!tensors) {
    const auto tensor = as_tensor(value, {});
    if (!tensor) throw InternalError("a value that is no tensor is to be written: " + name);
    return tensor_of(*tensor, name).SerializeAsString();
  }
  ::onnx::SequenceProto proto;
  proto.set_name(name);
  proto.set_elem_type(::onnx::SequenceProto::TENSOR);
  for (const ir::Constant& item : list->items) *proto.add_tensor_values() = tensor_of(*item.get<ir::TensorView>(), {});
  return proto.SerializeAsString();
}

}  // namespace

void write_repro(const fs::path& folder, const std::string& model, const NamedValues& inputs, const NamedValues& outputs) {
  const fs::path data = folder / "test_data_set_0";
  std::error_code error;
  fs::remove_all(data, error);
  fs::create_directories(data, error);
  if (error) throw UsageError(folder.string() + ": can't be made: " + error.message());
  write_file(folder / "model.onnx", {model});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    write_file(data / ("input_" + std::to_string(i) + ".pb"), {message_of(inputs[i].second, inputs[i].first)});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write_file(data / ("output_" + std::to_string(i) + ".pb"), {message_of(outputs[i].second, outputs[i].first)});
}

}  // namespace compatcheck::verification
