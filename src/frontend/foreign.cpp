#include "frontend/foreign.h"

namespace compatcheck::frontend {
namespace {

constexpr std::string_view export_model =
    "in Python, export the model: torch.export.save(torch.export.export(model.eval(), inputs), \"model.pt2\")";

std::string pickled_module(const std::string& class_name) {
  if (class_name.starts_with("torch.fx.") || class_name.starts_with("torch.export."))
    return "holds a pickled graph (" + class_name + "): save the exported program with torch.export.save";
  return "holds a pickled Python object (" + class_name +
         "), whose code is not in the file: load it with torch.load where that class can be imported, then " +
         std::string(export_model);
}

std::string unknown(const std::string& detail) {
  if (!detail.empty()) return detail;
  return "is neither a file of torch.jit.save or torch.export.save nor a TorchScript graph as text";
}

}  // namespace

std::string_view name(Format format) {
  switch (format) {
    case Format::torchscript: return "torchscript";
    case Format::graph_text: return "graph_text";
    case Format::state_dict: return "state_dict";
    case Format::checkpoint: return "checkpoint";
    case Format::tensor: return "tensor";
    case Format::saved_object: return "saved_object";
    case Format::pickled_module: return "pickled_module";
    case Format::exported_program: return "exported_program";
    case Format::mobile_bytecode: return "mobile_bytecode";
    case Format::legacy_tar: return "legacy_tar";
    case Format::onnx: return "onnx";
    case Format::tensorrt_engine: return "tensorrt_engine";
    case Format::tflite: return "tflite";
    case Format::hdf5: return "hdf5";
    case Format::gguf: return "gguf";
    case Format::safetensors: return "safetensors";
    case Format::executorch: return "executorch";
    case Format::text: return "text";
    case Format::unknown: return "unknown";
  }
  return "unknown";
}

std::string why_not(const Recognition& recognition) {
  switch (recognition.format) {
    case Format::state_dict:
      return "holds weights without code (a state_dict): build the model, load_state_dict them, then " +
             std::string(export_model);
    case Format::checkpoint:
      return "holds " + recognition.detail + ", without code: build the model, load_state_dict them, then " +
             std::string(export_model);
    case Format::tensor:
    case Format::saved_object: return "holds " + recognition.detail + ", not a model: " + std::string(export_model);
    case Format::pickled_module: return pickled_module(recognition.detail);
    case Format::mobile_bytecode:
      return "is a mobile model of which only the bytecode is left: save the scripted module with torch.jit.save instead "
             "of _save_for_lite_interpreter";
    case Format::legacy_tar:
      return "is in the tar format of torch before 0.1.10: load it with torch.load there, save it again, then " +
             std::string(export_model);
    case Format::onnx: return "is an ONNX model already";
    case Format::torchscript:
    case Format::graph_text:
    case Format::exported_program:
    case Format::tensorrt_engine:
    case Format::tflite:
    case Format::hdf5:
    case Format::gguf:
    case Format::safetensors:
    case Format::executorch:
    case Format::text:
    case Format::unknown: break;
  }
  return unknown(recognition.detail);
}

}  // namespace compatcheck::frontend
