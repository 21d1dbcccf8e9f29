#include "analysis/prepare.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "analysis/asserting_graph.h"
#include "analysis/assumed.h"
#include "analysis/custom_opsets.h"
#include "analysis/exported_inputs.h"
#include "analysis/given_inputs.h"
#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "conversion/facts.h"
#include "conversion/interface.h"
#include "inference/infer.h"
#include "ir/value_name.h"
#include "passes/normalize.h"
#include "passes/passes.h"
#include "passes/stack_in_loops.h"
#include "passes/write_causes.h"

namespace compatcheck::analysis {
namespace {

// Each round of folding can only settle what the last one left; more than a few mean that nothing is gained.
constexpr int fold_rounds = 16;

const ir::Program* program_of(const Model::State& model) { return model.program ? &*model.program : nullptr; }

class Preparation {
 public:
  Preparation(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& given, const ir::Watch& watch,
              const PrepareOptions& how = {})
      : model_(model),
        given_(given),
        watch_(watch),
        how_(how),
        prepared_{.graph = std::move(graph),
                  .facts = {},
                  .steps = model.steps,
                  .warnings = {},
                  .unresolved_writes = {},
                  .state = model.state,
                  .lost_writes = model.lost_writes} {
    state();
  }

  void fold() {
    for (int round = 0; round < fold_rounds; ++round) {
      const bool changed = conversion::fold_with_facts(prepared_.graph, facts_->facts(), model_.schemas, watch_,
                                                       {.keep_assertions = how_.keep_assertions,
                                                        .folded = folded_,
                                                        .lost_writes = &prepared_.lost_writes,
                                                        .program = program_of(model_),
                                                        .copies = &copies_});
      folded_ = true;
      if (!changed) return;
      prepared_.steps.emplace_back("folded what the inputs' dtypes and shapes settle");
      facts_.reset();
      state();
    }
  }

  // What is folded leaves fewer readers, and what is inferred settles branches.
  // `asserting`: of the same model with its assertions, which tell more.
  void infer(const inference::Inferred& asserting = {}) {
    take_over(asserting);
    const inference::Sources sources{model_.table, model_.schemas, model_.registry, watch_};
    for (int round = 0; round < fold_rounds; ++round) {
      if (!inference::infer(prepared_.graph, *facts_, given_, sources, inferred_)) break;
      fold();
    }
    prepared_.assumed = assumed_inputs(inferred_);
    for (const auto& assumption : inferred_.assumptions)
      if (assumption.open_rank) prepared_.open_ranks.push_back(assumption.leaf.name);
  }

  // The last change: nothing is folded after it.
  void stack_in_loops() {
    const std::size_t stacked = passes::stack_in_loops(prepared_.graph, model_.schemas, watch_);
    if (stacked == 0) return;
    prepared_.steps.push_back("stacked in loops what " + std::to_string(stacked) + (stacked == 1 ? " list" : " lists") +
                              " would hold");
    facts_.reset();
    state();
  }

  const ir::Graph& graph() const { return prepared_.graph; }
  const inference::Inferred& inferred() const { return inferred_; }

  void forget_facts() { facts_.reset(); }

  Prepared take() {
    prepared_.facts = facts_->take();
    facts_.reset();
    for (const auto& write : passes::unresolved_writes(prepared_.graph, program_of(model_), model_.schemas, watch_))
      prepared_.unresolved_writes.emplace(write.node, write.why);
    if (!prepared_.unresolved_writes.empty())
      prepared_.write_causes = passes::write_causes(prepared_.graph, program_of(model_), model_.schemas, watch_);
    return std::move(prepared_);
  }

 private:
  void take_over(const inference::Inferred& asserting) {
    if (asserting.assumptions.empty()) return;
    inferred_ = asserting;
    for (auto& assumption : inferred_.assumptions)
      assumption.leaf.input = prepared_.graph.inputs()[assumption.leaf.input->index()];
    state();
    fold();
  }

  void state() {
    std::vector<conversion::InputFact> inputs = inferred_.facts;
    inputs.insert(inputs.end(), given_.begin(), given_.end());
    if (!facts_) facts_.emplace(prepared_.graph, model_.table, model_.schemas, model_.registry, program_of(model_), watch_);
    facts_->state(inputs);
  }

  const Model::State& model_;
  const std::vector<conversion::InputFact>& given_;
  const ir::Watch& watch_;
  PrepareOptions how_;
  inference::Inferred inferred_;
  bool folded_ = false;
  std::size_t copies_ = 0;
  Prepared prepared_;
  std::optional<conversion::FactTrials> facts_;  // of prepared_.graph as it stands
};

// An input of which neither the file nor the caller says all.
bool leaves_open(const Model::State& model, const std::vector<conversion::InputFact>& given) {
  using enum ir::TypeKind;
  const auto is_open = [&](const ir::Value* input) {
    const ir::TypeRef& type = input->type();
    const bool holds_tensors = !type || ir::is(type, tensor) || ir::is(type, optional) || ir::is(type, list) ||
                               ir::is(type, tuple) || ir::is(type, dict);
    const bool said = type && type->tensor.dtype && type->tensor.sizes;
    return !input->unused() && holds_tensors && !said &&
           std::ranges::find(given, input->name(), &conversion::InputFact::name) == given.end();
  };
  return std::ranges::any_of(model.graph.inputs(), is_open);
}

bool same_inputs(const ir::Graph& one, const ir::Graph& other) {
  return std::ranges::equal(one.inputs(), other.inputs(), {}, &ir::Value::name, &ir::Value::name);
}

}  // namespace

Prepared prepare(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& inputs,
                 const ir::Watch& watch, const PrepareOptions& how) {
  Preparation preparation(model, std::move(graph), inputs, watch, how);
  preparation.fold();
  return preparation.take();
}

namespace {

// What a state that may change its size is given as: with names for these dimensions, unless the caller states it. Where nothing
// is known of its rank after the call, it is the one before.
std::vector<conversion::InputFact> named_growth(const Prepared& prepared, const std::vector<conversion::InputFact>& given) {
  std::vector<conversion::InputFact> named;
  const std::size_t states = prepared.state.size();
  for (std::size_t i = 0; i < states; ++i) {
    const ir::Value* input = prepared.graph.inputs()[prepared.graph.inputs().size() - states + i];
    const auto* before = prepared.facts.of(input).tensor();
    const auto* after = prepared.facts.of(prepared.graph.outputs()[prepared.graph.outputs().size() - states + i]).tensor();
    const std::string& name = prepared.state[i].input;
    const bool told = std::ranges::find(given, name, &conversion::InputFact::name) != given.end();
    if (told || !before || !after || !before->shape || (after->shape && before->shape->size() != after->shape->size())) continue;
    symbolic::TensorFact tensor = *before;
    bool changes = false;
    for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim) {
      const symbolic::Dim later = after->shape ? (*after->shape)[dim] : symbolic::Dim::unknown();
      if (!(*before->shape)[dim].is_number() || (*before->shape)[dim].number() == later.number()) continue;
      std::string size = inference::dimension_name(name, dim);
      std::ranges::replace(size, '.', '_');
      (*tensor.shape)[dim] = symbolic::Dim::symbol(size);
      changes = true;
    }
    if (changes) named.push_back({name, {.value = std::move(tensor)}});
  }
  return named;
}

// A list that may be None and is stated as a whole is no None.
void take_lists(ir::Graph& graph, const std::vector<conversion::InputFact>& given) {
  for (ir::Value* input : graph.inputs()) {
    const auto fact = std::ranges::find(given, ir::input_name(*input), &conversion::InputFact::name);
    const ir::TypeRef held = ir::without_optional(input->type());
    if (fact != given.end() && fact->fact.list() && ir::is(held, ir::TypeKind::list)) input->set_type(held);
  }
}

Prepared prepare_given(const Model::State& model, const CheckOptions& options, const ir::Watch& watch,
                       const std::vector<std::string>& members, std::vector<conversion::InputFact> growth) {
  auto domain_versions = custom_opsets(options.custom_opsets, model.table, model.graph, options.export_type);
  ir::Graph graph = model.graph.clone();
  auto given = given_inputs(options, graph, model.defaults);
  for (auto& fact : exported_facts(model, options))
    if (std::ranges::find(given.facts, fact.name, &conversion::InputFact::name) == given.facts.end())
      given.facts.push_back(std::move(fact));
  for (const passes::StateAttribute& state : model.state)
    if (!state.initial.get<ir::TensorView>() &&
        std::ranges::find(given.facts, state.input, &conversion::InputFact::name) != given.facts.end())
      throw UsageError("CheckOptions::inputs " + state.input +
                       ": it is a number that the model keeps between calls, which has no size");
  given.facts.insert(given.facts.end(), growth.begin(), growth.end());
  std::vector<std::string> told = members;
  for (const auto& fact : given.facts) told.push_back(fact.name);
  const auto part = [&](ir::Graph& whole) {
    take_values(whole, given.left_out);
    take_values(whole, given.numbers);
    take_lists(whole, given.facts);
    return passes::part_inputs(whole, told) > 0;
  };
  std::optional<Preparation> asserting;
  if (has_asserting_graph(model) && leaves_open(model, given.facts)) try {
      ir::Graph whole = asserting_graph(model, watch).clone();
      part(whole);
      asserting.emplace(model, std::move(whole), given.facts, watch, PrepareOptions{.keep_assertions = true});
      asserting->fold();
      asserting->infer();
      asserting->forget_facts();
    } catch (const ModelError&) {  // with its branches the graph may be beyond a bound that it keeps without them
      watch.look();
      asserting.reset();
    }
  const bool parted = part(graph);
  Preparation preparation(model, std::move(graph), given.facts, watch);
  preparation.fold();
  const bool takes_over = asserting && same_inputs(asserting->graph(), preparation.graph());
  preparation.infer(takes_over ? asserting->inferred() : inference::Inferred());
  if (options.export_type != ExportType::raw && options.export_type != ExportType::onnx_aten) preparation.stack_in_loops();
  Prepared prepared = preparation.take();
  prepared.values = std::move(given.values);
  prepared.constants = given.left_out;
  prepared.constants.insert(prepared.constants.end(), given.numbers.begin(), given.numbers.end());
  if (const auto more = named_growth(prepared, given.facts); !more.empty()) {
    growth.insert(growth.end(), more.begin(), more.end());
    return prepare_given(model, options, watch, members, std::move(growth));
  }
  if (!model.exported) check_dims(options.dims, options.inputs, prepared.assumed);
  if (parted)
    prepared.steps.insert(prepared.steps.begin() + static_cast<std::ptrdiff_t>(model.steps.size()),
                          "took apart what the model is given in lists and dictionaries");
  for (const auto& [input, value] : given.left_out)
    prepared.steps.push_back("took the default of " + model.graph.inputs()[input]->name() + ": --input gives another");
  prepared.warnings = std::move(given.warnings);
  prepared.domain_versions = std::move(domain_versions);
  prepared.inline_functions = options.inline_functions;
  prepared.complex_io = options.complex_io;
  prepared.quantized_io = options.quantized_io;
  prepared.prefer = options.prefer;
  for (const conversion::InputFact& state : growth)
    prepared.steps.push_back("the size of input " + state.name + ", which is state, changes from call to call: it has a name");
  return prepared;
}

}  // namespace

Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch,
                 const std::vector<std::string>& members) {
  return prepare_given(model, with_exported_inputs(model, options), watch, members, {});
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
          .export_type = type,
          .complex_io = prepared.complex_io,
          .quantized_io = prepared.quantized_io,
          .prefer = prepared.prefer,
          .state = prepared.state};
}

}  // namespace compatcheck::analysis
