#include "analysis/prepare.h"

#include "analysis/given_inputs.h"
#include "convert/facts.h"
#include "passes/passes.h"

namespace compatcheck::analysis {
namespace {

// Each round of folding can only settle what the last one left; more than a few mean that nothing is gained.
constexpr int fold_rounds = 4;

const ir::Program* program_of(const Model::State& model) { return model.program ? &*model.program : nullptr; }

}  // namespace

Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch) {
  Prepared prepared{.graph = model.graph.clone(), .facts = {}, .steps = model.steps, .warnings = {}, .unresolved_writes = {}};
  auto given = given_inputs(options, prepared.graph);
  prepared.warnings = std::move(given.warnings);
  std::vector<std::string> told;
  for (const auto& fact : given.facts) told.push_back(fact.name);
  if (passes::part_inputs(prepared.graph, told) > 0) prepared.steps.push_back("took apart what the model is given in lists and dictionaries");
  const ir::Program* program = program_of(model);
  const auto state = [&] {
    prepared.facts = conversion::state_facts(prepared.graph, given.facts, model.table, model.schemas, model.registry, program, watch);
  };
  state();
  for (int round = 0; round < fold_rounds; ++round) {
    const auto changes = conversion::fold_with_facts(prepared.graph, prepared.facts, model.schemas, watch);
    if (changes.empty()) break;
    prepared.steps.insert(prepared.steps.end(), changes.begin(), changes.end());
    state();
  }
  for (const auto& write : passes::unresolved_writes(prepared.graph, program, model.schemas, watch))
    prepared.unresolved_writes.emplace(write.node, write.why);
  return prepared;
}

conversion::Context context_of(const Model::State& model, const Prepared& prepared, const ir::Watch& watch) {
  return {.table = model.table, .schemas = model.schemas, .registry = model.registry, .handlers = model.handlers, .moved = model.moved,
          .facts = prepared.facts, .unresolved_writes = prepared.unresolved_writes, .program = program_of(model), .watch = watch};
}

}  // namespace compatcheck::analysis
