#include "analysis/asserting_graph.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "compatcheck/error.h"
#include "passes/normalize.h"
#include "passes/passes.h"

namespace compatcheck::analysis {

namespace {

ir::Graph normalized_with_assertions(const Model::State& model, const ir::Watch& watch) {
  passes::NormalizeOptions options;
  options.watch = watch;
  options.keep_assertions = true;
  options.gradients = model.load.gradients;
  options.state_as_inputs = !model.state.empty();
  ir::Graph graph = passes::normalize(model.with_assertions->clone(), model.program.get(), model.schemas, options).graph;
  // This graph may read more inputs than the model, in branches that only raise.
  const std::size_t given = model.graph.inputs().size() - model.state.size();
  for (std::size_t i = 0; i < std::min(graph.inputs().size(), given); ++i) {
    graph.inputs()[i]->set_name(model.graph.inputs()[i]->name());
    graph.inputs()[i]->set_type(model.graph.inputs()[i]->type());
  }
  return graph;
}

}  // namespace

bool has_asserting_graph(const Model::State& model) { return model.with_assertions.has_value(); }

const ir::Graph& asserting_graph(const Model::State& model, const ir::Watch& watch) {
  const std::lock_guard guard(model.asserting_guard);
  if (!model.asserting_failure.empty()) throw ModelError(model.asserting_failure);
  if (!model.asserting) try {
      model.asserting = std::make_unique<const ir::Graph>(normalized_with_assertions(model, watch));
    } catch (const ModelError& error) {
      watch.look();  // out of time: the next call may have more
      model.asserting_failure = error.what();
      throw;
    }
  return *model.asserting;
}

Prepared prepare_asserting(const Model::State& model, const Prepared& prepared, const ir::Watch& watch, Keeping keeping) {
  ir::Graph graph = asserting_graph(model, watch).clone();
  std::vector<conversion::InputFact> inputs;
  std::vector<std::string> names;
  for (const ir::Value* input : prepared.graph.inputs()) {
    inputs.push_back({input->name(), prepared.facts.of(input)});
    names.push_back(input->name());
  }
  take_values(graph, prepared.constants);
  passes::part_inputs(graph, names);
  if (keeping == Keeping::assertions) {
    while (!graph.outputs().empty()) graph.top()->erase_output(graph.outputs().size() - 1);
    passes::remove_dead_code(graph, model.program ? &*model.program : nullptr, watch);
  }
  return prepare(model, std::move(graph), inputs, watch, {.keep_assertions = true});
}

}  // namespace compatcheck::analysis
