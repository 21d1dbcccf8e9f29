#include "frontend/native/object_order.h"

#include <optional>

namespace compatcheck::frontend::native {
namespace {

template <class Visit>
void for_each_object(ir::Constant& value, const Visit& visit) {
  if (auto* object = value.get<ir::ObjectConstant>()) return visit(*object);
  if (auto* list = value.get<ir::ListConstant>())
    for (ir::Constant& item : list->items) for_each_object(item, visit);
  if (auto* tuple = value.get<ir::TupleConstant>())
    for (ir::Constant& item : tuple->items) for_each_object(item, visit);
  if (auto* dict = value.get<ir::DictConstant>())
    for (auto& [key, item] : dict->items) for_each_object(item, visit);
}

}  // namespace

void order_objects(ir::Program& program, std::vector<ir::Constant*> constants) {
  std::vector<std::optional<std::uint32_t>> place(program.objects.size());
  std::uint32_t next = 0;
  std::vector<std::uint32_t> open;
  const auto reach = [&](std::uint32_t root) {
    open.push_back(root);
    while (!open.empty()) {
      const std::uint32_t object = open.back();
      open.pop_back();
      if (place.at(object)) continue;
      place[object] = next++;
      std::vector<std::uint32_t> held;
      for (ir::Constant& attribute : program.objects[object].attributes)
        for_each_object(attribute, [&](const ir::ObjectConstant& inner) { held.push_back(inner.object); });
      open.insert(open.end(), held.rbegin(), held.rend());
    }
  };
  reach(program.root);
  for (std::uint32_t object = 0; object < program.objects.size(); ++object) reach(object);

  const auto rename = [&](ir::ObjectConstant& object) { object.object = *place.at(object.object); };
  std::vector<ir::Object> ordered(program.objects.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (ir::Constant& attribute : program.objects[i].attributes) for_each_object(attribute, rename);
    ordered[*place[i]] = std::move(program.objects[i]);
  }
  program.objects = std::move(ordered);
  program.root = *place.at(program.root);
  for (ir::Constant* constant : constants) for_each_object(*constant, rename);
}

}  // namespace compatcheck::frontend::native
