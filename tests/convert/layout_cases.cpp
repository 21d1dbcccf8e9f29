// Where values lie in memory, for run_layouts.py.
//   layout_cases HELPER < lines of "model.pt<tab>f32:2,3<tab>…", an input each
// writes one JSON line a model: of each output null, or {strides, offset, in_order, exact, memory}: the output's own place
// ("new"), or the number of the input whose memory it is.
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conversion/facts.h"
#include "frontend/load.h"
#include "ir/value_name.h"
#include "passes/normalize.h"
#include "symbolic/layout.h"
#include "symbolic/shapes.h"

namespace {

using namespace compatcheck;
using nlohmann::json;

symbolic::Fact fact_of(const std::string& spec) {
  const auto colon = spec.find(':');
  symbolic::Shape shape;
  std::istringstream sizes(spec.substr(colon + 1));
  for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::stoll(size));
  return symbolic::tensor_fact(ir::dtype_from_name(spec.substr(0, colon)), shape);
}

json spell(const symbolic::Placement& placement, const ir::Value* value) {
  if (!placement.layout)
    return placement.unknown && placement.unknown->producer() ? json(placement.unknown->producer()->op()) : json();
  json memory = "else";
  if (!placement.layout->memory->producer() && !placement.layout->memory->block()->owner())
    memory = placement.layout->memory->index();
  else if (placement.layout->memory == value)
    memory = "new";
  json strides = json::array();
  for (const auto& stride : placement.layout->strides) strides.push_back(stride.number() ? json(*stride.number()) : json());
  const auto offset = placement.layout->offset.number();
  return {{"strides", strides},
          {"offset", offset ? json(*offset) : json()},
          {"in_order", placement.layout->in_order},
          {"exact", placement.layout->exact},
          {"memory", memory}};
}

void collect(const ir::Value* value, std::vector<const ir::Value*>& into) {
  const ir::Node* maker = value->producer();
  if (maker && (maker->is("prim::TupleConstruct") || maker->is("prim::ListConstruct")))
    for (const ir::Value* item : maker->inputs()) collect(item, into);
  else
    into.push_back(value);
}

}  // namespace

int main(int, char** arguments) {
  frontend::LoadOptions options;
  options.helper = arguments[1];
  frontend::Frontend frontend(options);
  const mapping::Table table = mapping::Table::shipped();
  const schema::Registry schemas;
  const symbolic::Registry registry = symbolic::shipped_registry();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string file;
    std::getline(words, file, '\t');
    try {
      const frontend::Loaded loaded = frontend.load(file);
      const auto& program = std::get<ir::Program>(loaded.content);
      passes::Normalized normalized = passes::normalize(program, schemas);
      std::vector<conversion::InputFact> given;
      std::string spec;
      for (std::size_t i = 0; i < normalized.graph.inputs().size() && std::getline(words, spec, '\t'); ++i) {
        given.push_back({ir::input_name(*normalized.graph.inputs()[i]), fact_of(spec)});
      }
      auto facts = conversion::state_facts(normalized.graph, given, table, schemas, registry, &program);
      if (conversion::fold_with_facts(normalized.graph, facts, schemas))
        facts = conversion::state_facts(normalized.graph, given, table, schemas, registry, &program);
      std::vector<const ir::Value*> outputs;
      for (const ir::Value* output : normalized.graph.outputs()) collect(output, outputs);
      symbolic::Layouts layouts(facts);
      json stated = json::array();
      for (const ir::Value* output : outputs) stated.push_back(spell(layouts.of(output), output));
      std::cout << stated.dump() << std::endl;
    } catch (const std::exception& error) {
      std::cout << json(error.what()).dump() << std::endl;
    }
  }
}
