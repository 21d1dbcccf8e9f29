#include "frontend/torchscript/packed_parameters.h"

#include <torch/custom_class.h>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

// The slots of such an object: where its content comes from, the content.
enum Slot : std::size_t { origin, content, slots };
constexpr const char* saved_state = "state";

c10::IValue make_object(const c10::StrongTypePtr& type, std::string from, c10::IValue holds) {
  auto object = c10::ivalue::Object::create(type, slots);
  object->setSlot(origin, std::move(from));
  object->setSlot(content, std::move(holds));
  return object;
}

}  // namespace

bool is_packed_parameters(const c10::ClassType& type) {
  return type.name() && type.name()->qualifiedName().starts_with(custom_class_prefix) && !is_opaque_class(type);
}

bool is_opaque_class(const c10::ClassType& type) {
  if (!type.name() || !type.name()->qualifiedName().starts_with(custom_class_prefix)) return false;
  return torch::getCustomClass(type.name()->qualifiedName()) == nullptr;
}

c10::IValue packed_from_state(const c10::StrongTypePtr& type, c10::IValue state) {
  return make_object(type, saved_state, std::move(state));
}

std::optional<c10::IValue> packed_from_call(const std::string& op, const std::vector<c10::IValue>& arguments) {
  const std::string made = native::class_made_by(op);
  if (made.empty()) return std::nullopt;
  const auto type = torch::getCustomClass(made);
  if (!type) return std::nullopt;
  return make_object(c10::StrongTypePtr(nullptr, type), op, c10::ivalue::Tuple::create(arguments));
}

PackedContent content_of(const c10::ivalue::Object& object) {
  if (object.slots().size() != slots) throw ModelError("packed parameters are damaged");
  const std::string& from = object.getSlot(origin).toStringRef();
  return {from == saved_state ? std::string() : from, object.getSlot(content)};
}

}  // namespace compatcheck::frontend::torchscript
