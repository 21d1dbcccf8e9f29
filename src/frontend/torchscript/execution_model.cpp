#include "frontend/torchscript/execution_model.h"

#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>

#include "compatcheck/error.h"
#include "frontend/torchscript/interpreter_constants.h"
#include "frontend/torchscript/interpreter_operators.h"
#include "frontend/torchscript/program_reader.h"

namespace compatcheck::frontend::torchscript {

using c10::IValue;

torch::jit::Module& ExecutionModel::module() {
  if (!module_) {
    module_ = torch::jit::load(model_.path, at::Device(at::kCPU));
    if (module_->hasattr("training")) module_->eval();
  }
  return *module_;
}

const ir::Program& ExecutionModel::program() {
  if (!program_) program_ = read_program(model_.path, model_.schemas);
  return *program_;
}

IValue ExecutionModel::object(std::uint32_t number) {
  if (objects_.empty()) match({ir::ObjectConstant{program().root}}, module()._ivalue());
  const auto known = objects_.find(number);
  if (known != objects_.end()) return known->second;
  if (number >= program().objects.size()) throw InternalError("object " + std::to_string(number) + " isn't in the model");
  return objects_[number] = pack(program().objects[number]);
}

// Both were read from the same file: the same attributes hold the same things.
void ExecutionModel::match(const ir::Constant& constant, const IValue& value) {
  if (const auto* named = constant.get<ir::ObjectConstant>(); named && value.isObject()) {
    if (!objects_.emplace(named->object, value).second) return;
    const ir::Object& object = program().objects.at(named->object);
    const auto& attributes = program().classes.at(object.class_name).attributes;
    const auto held = value.toObject();
    for (std::size_t i = 0; i < attributes.size(); ++i)
      if (const auto slot = held->type()->findAttributeSlot(attributes[i].name))
        match(object.attributes[i], held->getSlot(*slot));
  } else if (const auto* list = constant.get<ir::ListConstant>(); list && value.isList()) {
    const auto items = value.toListRef();
    for (std::size_t i = 0; i < std::min(items.size(), list->items.size()); ++i) match(list->items[i], items[i]);
  } else if (const auto* tuple = constant.get<ir::TupleConstant>(); tuple && value.isTuple()) {
    const auto& items = value.toTupleRef().elements();
    for (std::size_t i = 0; i < std::min(items.size(), tuple->items.size()); ++i) match(tuple->items[i], items[i]);
  } else if (const auto* dict = constant.get<ir::DictConstant>(); dict && value.isGenericDict()) {
    std::size_t i = 0;
    for (const auto& entry : value.toGenericDict())
      if (i < dict->items.size()) match(dict->items[i++].second, entry.value());
  }
}

// The parts' names: packed_parameters.h.
IValue ExecutionModel::pack(const ir::Object& object) const {
  const auto& attributes = program_->classes.at(object.class_name).attributes;
  ConstantReader reader({.file = model_.path, .object = {}, .classes = {}, .body = {}});
  const auto part = [&](std::string_view name) {
    for (std::size_t i = 0; i < attributes.size(); ++i)
      if (attributes[i].name == name) return reader.read(object.attributes[i]);
    throw ModelError("an object of " + object.class_name + " that only the code holds can't be run");
  };
  Operators operators;
  // Copies: the file is mapped for this call alone.
  const at::Tensor weight = part("weight").toTensor().clone();
  const IValue given = part("bias"), bias = given.isTensor() ? IValue(given.toTensor().clone()) : given;
  const auto made_by = [&](const std::string& op, std::vector<IValue> arguments) {
    return operators.call("quantized::" + op, "", std::move(arguments)).at(0);
  };
  if (object.class_name.find("Linear") != std::string::npos)
    return made_by(weight.is_quantized() ? "linear_prepack" : "linear_prepack_fp16", {weight, bias});
  const std::string dims = std::to_string(std::max<std::int64_t>(weight.dim() - 2, 1)) + "d_prepack";
  if (part("transpose").toBool())
    return made_by("conv_transpose" + dims,
                   {weight, bias, part("stride"), part("padding"), part("output_padding"), part("dilation"), part("groups")});
  return made_by("conv" + dims, {weight, bias, part("stride"), part("padding"), part("dilation"), part("groups")});
}

}  // namespace compatcheck::frontend::torchscript
