// Follows torch/csrc/jit/serialization/import.cpp, whose deserializer has no parameter for the places of weights.
#include "frontend/torchscript/module_reader.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <utility>

#include "compatcheck/error.h"
#include "frontend/torchscript/packed_parameters.h"
#include "frontend/torchscript/state_setter.h"
#include "frontend/traced_types.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t deepest_object = 900, most_checked = 20'000'000;

// The state by attribute name; false if it doesn't say all of them.
bool fill_by_name(c10::ivalue::Object& object, const c10::IValue& state) {
  if (!state.isGenericDict()) return object.type()->numAttributes() == 0;
  const auto dict = state.toGenericDict();
  for (std::size_t i = 0; i < object.type()->numAttributes(); ++i) {
    const auto found = dict.find(object.type()->getAttributeName(i));
    if (found == dict.end()) return false;
    object.setSlot(i, found->value());
  }
  return true;
}

}  // namespace

ModuleReader::ModuleReader(const Archive& archive, caffe2::serialize::PyTorchStreamReader& reader, Sources& sources,
                           Weights& weights, const Stubs& stubs)
    : reader_(reader),
      weights_(weights),
      archive_(archive),
      unit_(std::make_shared<torch::jit::CompilationUnit>()),
      importer_(
          unit_, &constants_, [&sources](const std::string& qualifier) { return sources.load(qualifier); },
          static_cast<std::size_t>(reader.version())) {
  stubs.define_classes(unit_);
}

c10::intrusive_ptr<c10::ivalue::Object> ModuleReader::read() {
  if (archive_.find("model.json"))
    throw ModelError("is an archive as torch 1.0 to 1.2 wrote them; load it with torch.jit.load and save it again");
  if (archive_.find("constants.pkl")) {
    const c10::IValue table = unpickle("constants");
    check_tensors(table);
    if (!table.isTuple()) throw ModelError("record constants.pkl holds no tuple");
    for (const c10::IValue& constant : table.toTupleRef().elements()) constants_.push_back(constant);
  }
  const c10::IValue root = unpickle("data");
  if (!root.isObject()) throw ModelError("it holds a " + root.tagKind() + ", not a module");
  return root.toObject();
}

std::vector<ir::RecordedInput> ModuleReader::traced_inputs(const std::vector<std::string>& names) {
  const Record* record = archive_.find("traced_inputs.pkl");
  if (!record) return {};
  if (!record->compressed) return frontend::traced_inputs(archive_.contents(*record), names);
  const auto [data, size] = reader_.getRecord(record->name);
  return frontend::traced_inputs({static_cast<const std::uint8_t*>(data.get()), size}, names);
}

c10::IValue ModuleReader::unpickle(const std::string& name) {
  const auto storages = weights_.map(name + ".pkl", name + "/");
  return torch::jit::readArchiveAndTensors(
      name, "", "", [this](const c10::QualifiedName& type) { return resolve(type); },
      [this](const c10::StrongTypePtr& type, c10::IValue state) { return make_object(type, std::move(state)); }, at::kCPU,
      reader_, torch::jit::Unpickler::defaultTypeParser, storages);
}

c10::StrongTypePtr ModuleReader::resolve(const c10::QualifiedName& name) {
  c10::TypePtr type = importer_.loadType(name);
  if (!type) throw ModelError("its code lacks the class " + name.qualifiedName());
  return {unit_, std::move(type)};
}

c10::intrusive_ptr<c10::ivalue::Object> ModuleReader::make_object(const c10::StrongTypePtr& type, c10::IValue state) {
  const auto cls = type.type_->cast<c10::ClassType>();
  if (!cls) throw ModelError("it holds an object of " + type.type_->str() + ", which isn't a class");
  if (is_opaque_class(*cls)) return c10::ivalue::Object::create(type, cls->numAttributes());
  if (is_packed_parameters(*cls)) {
    check_tensors(state);
    return packed_from_state(type, std::move(state)).toObject();
  }
  auto object = c10::ivalue::Object::create(type, cls->numAttributes());
  if (torch::jit::Function* method = cls->findMethod("__setstate__")) {
    check_tensors(state);
    set_state(object, *method, state);
    return object;
  }
  if (!state.isGenericDict()) throw ModelError("the attributes of an object of " + cls->name()->qualifiedName() + " are damaged");
  const auto attributes = state.toGenericDict();
  for (std::size_t i = 0; i < cls->numAttributes(); ++i) {
    const auto found = attributes.find(cls->getAttributeName(i));
    if (found == attributes.end())
      throw ModelError("an object of " + cls->name()->qualifiedName() + " lacks its attribute " + cls->getAttributeName(i));
    object->setSlot(i, found->value());
  }
  return object;
}

void ModuleReader::set_state(const c10::intrusive_ptr<c10::ivalue::Object>& object, torch::jit::Function& method,
                             const c10::IValue& state) {
  try {
    StateSetter().run(method, object, state);
  } catch (const StateNotSet& why) {
    const std::string name = object->type()->name()->qualifiedName();
    if (!fill_by_name(*object, state)) throw ModelError("__setstate__ of " + name + " can't be run: it " + why.what());
    if (noted_.insert(name).second)
      notes_.push_back(
          {ir::LoadNote::Kind::setstate_skipped, name,
           "__setstate__ of " + name + " was not run, because it " + why.what() + ": the attributes that it sets are unknown"});
  }
}

// Before anything reads a tensor's values.
void ModuleReader::check_tensors(const c10::IValue& value, std::size_t depth) {
  if (depth > deepest_object) throw ModelError("a value of the model is nested more than 900 deep, or holds itself");
  if (++checked_ > most_checked) throw ModelError("the model holds more than 20,000,000 values beside its tensors");
  if (value.isTensor()) weights_.check(value.toTensor());
  if (value.isTuple())
    for (const c10::IValue& element : value.toTupleRef().elements()) check_tensors(element, depth + 1);
  if (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList())
    for (const c10::IValue& element : value.toListRef()) check_tensors(element, depth + 1);
  if (value.isGenericDict())
    for (const auto& entry : value.toGenericDict()) check_tensors(entry.value(), depth + 1);
}

}  // namespace compatcheck::frontend::torchscript
