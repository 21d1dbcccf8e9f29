#include "analysis/prepare.h"

#include "analysis/assumed.h"
#include "analysis/custom_opsets.h"
#include "analysis/given_inputs.h"
#include "convert/facts.h"
#include "inference/infer.h"
#include "passes/passes.h"
#include "passes/write_causes.h"

namespace compatcheck::analysis {
namespace {

// Each round of folding can only settle what the last one left; more than a few mean that nothing is gained.
constexpr int fold_rounds = 4;

const ir::Program* program_of(const Model::State& model) { return model.program ? &*model.program : nullptr; }

class Preparation {
 public:
  Preparation(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& given, const ir::Watch& watch,
              const PrepareOptions& how = {})
      : model_(model),
        given_(given),
        watch_(watch),
        how_(how),
        prepared_{.graph = std::move(graph), .facts = {}, .steps = model.steps, .warnings = {}, .unresolved_writes = {}} {
    state();
  }

  void fold() {
    for (int round = 0; round < fold_rounds; ++round) {
      const auto changes =
          conversion::fold_with_facts(prepared_.graph, prepared_.facts, model_.schemas, watch_, how_.keep_assertions);
      if (changes.empty()) return;
      prepared_.steps.insert(prepared_.steps.end(), changes.begin(), changes.end());
      state();
    }
  }

  // What is folded leaves fewer readers, and what is inferred settles branches.
  void infer() {
    const inference::Sources sources{model_.table, model_.schemas, model_.registry, program_of(model_), watch_};
    for (int round = 0; round < fold_rounds; ++round) {
      if (!inference::infer(prepared_.graph, prepared_.facts, given_, sources, inferred_)) break;
      state();
      fold();
    }
    prepared_.assumed = assumed_inputs(inferred_);
  }

  Prepared take() {
    for (const auto& write : passes::unresolved_writes(prepared_.graph, program_of(model_), model_.schemas, watch_))
      prepared_.unresolved_writes.emplace(write.node, write.why);
    if (!prepared_.unresolved_writes.empty())
      prepared_.write_causes = passes::write_causes(prepared_.graph, program_of(model_), model_.schemas, watch_);
    return std::move(prepared_);
  }

 private:
  void state() {
    std::vector<conversion::InputFact> inputs = inferred_.facts;
    inputs.insert(inputs.end(), given_.begin(), given_.end());
    prepared_.facts = conversion::state_facts(prepared_.graph, inputs, model_.table, model_.schemas, model_.registry,
                                              program_of(model_), watch_);
  }

  const Model::State& model_;
  const std::vector<conversion::InputFact>& given_;
  const ir::Watch& watch_;
  PrepareOptions how_;
  inference::Inferred inferred_;
  Prepared prepared_;
};

// What a call leaves out is what the model says: a constant, which settles branches that nothing else does.
void take_default(ir::Graph& graph, std::size_t input, const ir::Constant& value) {
  ir::Value* argument = graph.inputs()[input];
  ir::Node* constant = graph.create_constant(value);
  if (!ir::is(argument->type(), ir::TypeKind::optional)) constant->output()->set_type(argument->type());
  graph.top()->prepend(constant);
  argument->replace_all_uses_with(constant->output());
}

}  // namespace

Prepared prepare(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& inputs,
                 const ir::Watch& watch, const PrepareOptions& how) {
  Preparation preparation(model, std::move(graph), inputs, watch, how);
  preparation.fold();
  return preparation.take();
}

Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch) {
  auto domain_versions = custom_opsets(options.custom_opsets, model.table, model.graph, options.export_type);
  ir::Graph graph = model.graph.clone();
  auto given = given_inputs(options, graph, model.defaults);
  for (const auto& [input, value] : given.left_out) take_default(graph, input, value);
  std::vector<std::string> told;
  for (const auto& fact : given.facts) told.push_back(fact.name);
  const bool parted = passes::part_inputs(graph, told) > 0;
  Preparation preparation(model, std::move(graph), given.facts, watch);
  preparation.fold();
  preparation.infer();
  Prepared prepared = preparation.take();
  if (parted)
    prepared.steps.insert(prepared.steps.begin() + static_cast<std::ptrdiff_t>(model.steps.size()),
                          "took apart what the model is given in lists and dictionaries");
  for (const auto& [input, value] : given.left_out)
    prepared.steps.push_back("took the default of " + model.graph.inputs()[input]->name() + ": --input gives another");
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
