#include "model_tools/module_tree.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace compatcheck::model_tools {

void for_each_module(const ir::Program& program,
                     const std::function<void(const std::string& path, const ir::Object& object)>& module,
                     const TensorVisit& tensor) {
  std::set<std::uint32_t> seen;
  std::vector<std::pair<std::string, std::uint32_t>> waiting{{"", program.root}};
  while (!waiting.empty()) {
    const auto [path, number] = std::move(waiting.back());
    waiting.pop_back();
    if (number >= program.objects.size() || !seen.insert(number).second) continue;
    const ir::Object& object = program.objects[number];
    module(path, object);
    const auto found = program.classes.find(object.class_name);
    std::vector<std::pair<std::string, std::uint32_t>> inner;
    for (std::size_t i = 0; i < object.attributes.size(); ++i) {
      const bool known = found != program.classes.end() && i < found->second.attributes.size();
      const ir::ClassAttribute attribute =
          known ? found->second.attributes[i] : ir::ClassAttribute{.name = std::to_string(i), .type = {}};
      const std::string name = (path.empty() ? "" : path + ".") + attribute.name;
      if (const auto* child = object.attributes[i].get<ir::ObjectConstant>()) inner.emplace_back(name, child->object);
      if (const auto* held = object.attributes[i].get<ir::TensorView>())
        tensor(name, *held, attribute.is_parameter ? "parameter" : attribute.is_buffer ? "buffer" : "attribute");
    }
    waiting.insert(waiting.end(), inner.rbegin(), inner.rend());
  }
}

void for_each_constant(const ir::Program& program, const TensorVisit& tensor) {
  for (const auto& [name, function] : program.functions) {
    std::size_t number = 0;
    ir::for_each_node(*function.graph.top(), [&, &name = name](const ir::Node* node) {
      const ir::Constant* value = node->is("prim::Constant") ? node->attribute("value") : nullptr;
      if (const auto* held = value ? value->get<ir::TensorView>() : nullptr)
        tensor(name + "#" + std::to_string(number++), *held, "constant");
    });
  }
}

}  // namespace compatcheck::model_tools
