// Programs for tests: classes, functions and objects written down by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/text.h"

namespace compatcheck::passes {

inline void add_function(ir::Program& program, const std::string& name, const std::string& graph) {
  ir::Function& function = program.functions[name];
  function.name = name;
  function.graph = ir::parse_graph(graph, {name});
  for (const ir::Value* input : function.graph.inputs()) function.parameters.push_back({input->name(), input->type(), {}});
}

inline void add_method(ir::Program& program, const std::string& type, const std::string& method, const std::string& graph) {
  program.classes[type].name = type;
  program.classes[type].methods[method] = type + "." + method;
  add_function(program, type + "." + method, graph);
}

struct AttributeOf {
  std::string name;
  ir::Constant value;
};

// A module; the last one added is the root.
inline std::uint32_t add_module(ir::Program& program, const std::string& type, const std::vector<AttributeOf>& attributes) {
  ir::Class& definition = program.classes[type];
  definition.name = type;
  definition.is_module = true;
  const bool first = definition.attributes.empty();
  ir::Object object{type, {}};
  for (const AttributeOf& attribute : attributes) {
    if (first) definition.attributes.push_back({attribute.name, ir::type_of(attribute.value), false, false});
    object.attributes.push_back(attribute.value);
  }
  program.objects.push_back(std::move(object));
  program.root = static_cast<std::uint32_t>(program.objects.size() - 1);
  return program.root;
}

inline ir::Constant tensor_constant(std::vector<std::int64_t> sizes) {
  ir::TensorView view;
  view.sizes = std::move(sizes);
  std::int64_t stride = 1;
  view.strides.resize(view.sizes.size());
  for (std::size_t i = view.sizes.size(); i-- > 0; stride *= view.sizes[i]) view.strides[i] = stride;
  auto storage = std::make_shared<ir::Storage>();
  storage->data.resize(static_cast<std::size_t>(stride) * 4);
  view.storage = std::move(storage);
  return {std::move(view)};
}

}  // namespace compatcheck::passes
