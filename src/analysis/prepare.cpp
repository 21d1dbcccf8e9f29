#include "analysis/prepare.h"

#include "analysis/custom_opsets.h"
#include "analysis/given_inputs.h"
#include "convert/facts.h"
#include "passes/passes.h"

namespace compatcheck::analysis {
namespace {

// Each round of folding can only settle what the last one left; more than a few mean that nothing is gained.
constexpr int fold_rounds = 4;

const ir::Program* program_of(const Model::State& model) { return model.program ? &*model.program : nullptr; }

}  // namespace

Prepared prepare(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& inputs,
                 const ir::Watch& watch) {
  Prepared prepared{.graph = std::move(graph), .facts = {}, .steps = model.steps, .warnings = {}, .unresolved_writes = {}};
  const ir::Program* program = program_of(model);
  const auto state = [&] {
    prepared.facts = conversion::state_facts(prepared.graph, inputs, model.table, model.schemas, model.registry, program, watch);
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

Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch) {
  auto domain_versions = custom_opsets(options.custom_opsets, model.table);
  ir::Graph graph = model.graph.clone();
  auto given = given_inputs(options, graph, model.defaults);
  std::vector<std::string> told;
  for (const auto& fact : given.facts) told.push_back(fact.name);
  const bool parted = passes::part_inputs(graph, told) > 0;
  Prepared prepared = prepare(model, std::move(graph), given.facts, watch);
  if (parted)
    prepared.steps.insert(prepared.steps.begin() + static_cast<std::ptrdiff_t>(model.steps.size()),
                          "took apart what the model is given in lists and dictionaries");
  for (const std::string& name : given.left_out)
    prepared.steps.push_back("took the default of " + name + ": --input gives another");
  prepared.warnings = std::move(given.warnings);
  prepared.domain_versions = std::move(domain_versions);
  prepared.inline_functions = options.inline_functions;
  return prepared;
}

conversion::Context context_of(const Model::State& model, const Prepared& prepared, const ir::Watch& watch, ExportType type) {
  return {.table = model.table,
          .schemas = model.schemas,
          .registry = model.registry,
          .handlers = model.handlers,
          .moved = model.moved,
          .facts = prepared.facts,
          .unresolved_writes = prepared.unresolved_writes,
          .program = program_of(model),
          .watch = watch,
          .domain_versions = prepared.domain_versions,
          .inline_functions = prepared.inline_functions,
          .export_type = type};
}

}  // namespace compatcheck::analysis
